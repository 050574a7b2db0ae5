// On paper.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");

/** A4 between margins of 12 mm, in CSS pixels. */
const PAPER = { width: 703, height: 1032 };

module.exports = {
  "prints all that matters, and cuts nothing": async ({ open, picture, paper }) => {
    // Who reads in the dark prints on white paper too.
    const page = await open({ colorScheme: "dark", viewport: PAPER });
    const unfolded = await page.$$eval("main figure.chart", (all) => all.filter((it) => it.checkVisibility()).length);
    await page.emulateMedia({ media: "print" });
    const found = await page.evaluate(() => {
      const seen = (it) => it.checkVisibility();
      const name = (it) => `${it.closest("section")?.id}: ${it.outerHTML.slice(0, 120)}`;
      const within = document.documentElement.clientWidth + 1;
      return {
        panels: [...document.querySelectorAll("main section")].filter((it) => !seen(it)).map(name),
        rows: [...document.querySelectorAll("#matrix-table tr")].filter((it) => !seen(it)).length,
        figures: [...document.querySelectorAll("main figure.chart")].filter(seen).length,
        controls: [...document.querySelectorAll("button.tool, select, nav")].filter(seen).map(name),
        cut: [...document.querySelectorAll("main *")]
          .filter((it) => seen(it) && !it.closest("svg") && it.scrollWidth > it.clientWidth + 1 && getComputedStyle(it).overflowX !== "visible")
          .map(name),
        beyond: [...document.querySelectorAll("main *, main svg text")].filter((it) => seen(it) && it.getBoundingClientRect().right > within).map(name),
        ground: getComputedStyle(document.body).backgroundColor,
      };
    });
    assert.deepEqual(
      { ...found, cut: found.cut.slice(0, 5), beyond: found.beyond.slice(0, 5) },
      { panels: [], rows: 0, figures: unfolded, controls: [], cut: [], beyond: [], ground: "rgb(255, 255, 255)" },
    );
    await page.screenshot({ path: picture("print"), fullPage: true });
    const pdf = await page.pdf({ path: paper, format: "A4", margin: { top: "12mm", right: "12mm", bottom: "12mm", left: "12mm" } });
    assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
    assert.ok(fs.statSync(paper).size > 10_000);
    assert.deepEqual([page.asked, page.wrong], [[], []]);
  },
};
