// Tests that the panel "Over time" can show other trials than the two that the page begins with.
"use strict";
const assert = require("node:assert/strict");

const PANEL = "#over-time";

/** Returns the caption, the drawing and the number of tool bars of each picture of a side. */
const pictures = (page, side) =>
  page.$$eval(
    `${PANEL} figure.chart[data-chart^="${side}-"], ${PANEL} figure.chart[id*="-pair-${side}-"]`,
    (all) =>
      all.map((figure) => ({
        caption: figure.querySelector("figcaption").textContent,
        drawn: figure.querySelector("svg").innerHTML,
        tools: figure.querySelectorAll(".tools").length,
      })),
  );

module.exports = {
  "shows other trials over time when they are chosen": async ({ open, picture }, context) => {
    const page = await open();
    const chooser = page.locator(`${PANEL} [data-choose] select`);
    if (!(await chooser.count())) return context.skip("this report has no trials to choose from");
    const { a, b } = await page
      .locator(`${PANEL} [data-choose]`)
      .evaluate((bar) => ({ ...bar.dataset }));
    // A page that begins with only one trial has no side b.
    const seen = [a, b].filter(Boolean);
    assert.deepEqual(
      await chooser.evaluateAll((all) => all.map((it) => it.value)),
      seen,
      "what is seen at first",
    );
    for (const [at, side, other] of [
      [0, "a", "b"],
      [1, "b", "a"],
    ].slice(0, seen.length)) {
      const select = chooser.nth(at);
      const label = await select.evaluate((it) => it.labels[0]?.textContent ?? "");
      assert.ok(label.trim(), "the choice has no label");
      const [before, beside] = [await pictures(page, side), await pictures(page, other)];
      const first = await select.inputValue();
      const values = await select
        .locator("option")
        .evaluateAll((options) => options.map((option) => option.value));
      await select.focus();
      // On disks with a constant service time, the drawings of one load's trials are equal.
      let [wanted, after, changed] = [first, before, false];
      for (const value of values.filter((it) => it !== first).reverse()) {
        wanted = value;
        await select.selectOption(wanted);
        await page.waitForFunction(
          ([panel, side, wanted]) =>
            document
              .querySelector(`${panel} figure.chart[id*="-pair-${side}-"] figcaption`)
              .textContent.includes(wanted),
          [PANEL, side, wanted],
        );
        after = await pictures(page, side);
        assert.equal(after.length, before.length, "as many pictures as before");
        changed = after.some((it, at) => it.drawn !== before[at].drawn);
        if (changed) break;
      }
      assert.ok(changed, "what is drawn is of the trial");
      assert.ok(
        after.every((it) => it.tools === 1),
        "each can be saved",
      );
      assert.ok(
        after.every((it) => it.caption.includes(wanted)),
        `of the trial that was chosen: ${after[0].caption}`,
      );
      const scales = await page
        .locator(PANEL)
        .evaluate((panel) =>
          [...panel.querySelectorAll("[data-choose] select")].map(
            (it) => panel.querySelector(`script[data-trial="${it.value}"]`).dataset.scale,
          ),
        );
      const apart = await page.locator(`${PANEL} [data-apart]`).isVisible();
      assert.equal(apart, new Set(scales).size > 1, `what is said of the axes: ${scales}`);
      assert.deepEqual(
        (await pictures(page, other)).map((it) => it.drawn),
        beside.map((it) => it.drawn),
        "the other side stays",
      );
      const told = await page.locator(`${PANEL} details.group > summary`).first().textContent();
      const now = await chooser.evaluateAll((all) => all.map((it) => it.value));
      assert.equal(told.trim(), now.join(" and "), "the heading tells which trials are seen");
      assert.equal(
        await select.evaluate((it) => document.activeElement === it),
        true,
        "the choice keeps the focus",
      );
    }
    const ids = await page.$$eval("[id]", (all) => all.map((it) => it.id));
    assert.equal(new Set(ids).size, ids.length, "an id is there twice");
    await page.locator(PANEL).screenshot({ path: picture("trials-chosen") });
    assert.deepEqual([page.asked, page.wrong], [[], []]);
  },
};
