// Tests that a page without scripts is complete, and shows no control that would do nothing.
"use strict";
const assert = require("node:assert/strict");

/** Returns the page's panels, and the numbers of rows and pictures, folded parts included. */
const content = (page) =>
  page.evaluate(() => ({
    panels: [...document.querySelectorAll("main section")].map((it) => it.id),
    rows: document.querySelectorAll("tbody tr").length,
    pictures: document.querySelectorAll("figure.chart svg").length,
  }));

module.exports = {
  "is complete without JavaScript": async ({ open, picture }) => {
    const scripted = await open();
    const wanted = await content(scripted);
    const page = await open({ javaScriptEnabled: false });
    assert.deepEqual(await content(page), wanted);
    const dead = await page.$$eval(
      "button, select, input, textarea, [role=button], .filters, .tools",
      (all) => all.filter((it) => it.checkVisibility()).map((it) => it.outerHTML.slice(0, 120)),
    );
    assert.deepEqual(dead, [], "controls that do nothing");
    const folded = await page.$("main details:not([open])");
    if (folded) {
      await (await folded.$("summary")).click();
      assert.ok(await folded.evaluate((it) => it.open), "what is folded can be unfolded");
    }
    await page.screenshot({ path: picture("without-script"), fullPage: true });
    assert.deepEqual(page.asked, []);
  },
};
