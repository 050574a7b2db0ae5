// Tests that the matrix can be sorted by each column and filtered by each axis, with the pointer
// and with keys.
"use strict";
const assert = require("node:assert/strict");

/** Returns the texts and numbers of each row of the table, and whether the row is visible. */
const rows = (page) =>
  page.$$eval("#matrix-table tbody tr", (all) =>
    all.map((row) => ({
      seen: row.checkVisibility(),
      texts: [...row.cells].map((cell) => cell.textContent.trim()),
      numbers: [...row.cells].map((cell) =>
        cell.dataset.value === undefined ? null : Number(cell.dataset.value),
      ),
    })),
  );
const heads = (page) =>
  page.$$eval("#matrix-table thead th", (all) =>
    all.map((head) => ({
      text: head.textContent,
      sort: head.getAttribute("aria-sort"),
      numbers: "numbers" in head.dataset,
      button: !!head.querySelector("button"),
    })),
  );
const byName = new Intl.Collator("en", { numeric: true }).compare;

/** Checks that a column ascends (or descends), and that rows without a number come last. */
function ordered(table, column, numbers, up) {
  const fields = table.map((row) => (numbers ? row.numbers[column] : row.texts[column]));
  const given = numbers ? fields.filter((field) => field !== null) : fields;
  assert.deepEqual(fields.slice(0, given.length), given, "rows without a number are last");
  for (let at = 1; at < given.length; at += 1) {
    const [a, b] = up ? [given[at - 1], given[at]] : [given[at], given[at - 1]];
    assert.ok(
      numbers ? a <= b : byName(a, b) <= 0,
      `row ${at + 1}: ${given[at - 1]}, then ${given[at]}`,
    );
  }
}

const withMatrix = (check) => async (report, context) => {
  const page = await report.open();
  if (await page.locator("#matrix-table").count()) await check(page, report);
  else context.skip("this report has no matrix");
  assert.deepEqual(page.wrong, []);
};

module.exports = {
  "sorts the matrix by each column": withMatrix(async (page, { picture }) => {
    const before = await rows(page);
    for (const [column, head] of (await heads(page)).entries()) {
      if (!head.button) continue;
      const button = page
        .locator("#matrix-table thead th button")
        .and(page.locator(`th:nth-child(${column + 1}) button`));
      for (const [press, order] of [
        ["click", "ascending"],
        ["Enter", "descending"],
        ["Space", "ascending"],
      ]) {
        if (press === "click") await button.click();
        else await button.press(press);
        const now = await heads(page);
        assert.deepEqual(
          now.map((it) => it.sort),
          now.map((_, at) => (at === column ? order : null)),
          head.text,
        );
        ordered(await rows(page), column, head.numbers, order === "ascending");
      }
    }
    const after = await rows(page);
    const whole = (table) => table.map((row) => row.texts.join("|")).sort();
    assert.deepEqual(whole(after), whole(before), "no row is lost or changed");
    const change = page.locator("#matrix-table th[data-numbers] button").first();
    await change.click();
    await page.locator("#matrix").screenshot({ path: picture("matrix-sorted") });
  }),

  "filters the matrix by each axis": withMatrix(async (page, { picture }) => {
    const all = await rows(page);
    const names = (await heads(page)).map((head) => head.text);
    const filters = page.locator("#matrix .filters select");
    const told = () => page.locator("#matrix .filters output").textContent();
    assert.equal(await told(), `${all.length} of ${all.length} rows`);
    for (let at = 0; at < (await filters.count()); at += 1) {
      const filter = filters.nth(at);
      const column = names.indexOf(await filter.getAttribute("data-filter"));
      assert.ok(column >= 0, "a filter of no column");
      const values = await filter
        .locator("option")
        .evaluateAll((options) => options.map((option) => option.value));
      assert.deepEqual(
        [...values].sort(),
        ["", ...new Set(all.map((row) => row.texts[column]))].sort(),
      );
      for (const value of values) {
        await filter.selectOption(value);
        const now = await rows(page);
        for (const row of now)
          assert.equal(row.seen, !value || row.texts[column] === value, row.texts.join(" "));
        assert.equal(await told(), `${now.filter((row) => row.seen).length} of ${all.length} rows`);
      }
      assert.equal(await filter.inputValue(), values.at(-1));
      await filter.selectOption("");
    }
    if ((await filters.count()) > 1) {
      // Two filters, set with keys, both apply, and still do after sorting.
      for (const at of [0, 1]) {
        await filters.nth(at).focus();
        await page.keyboard.press("ArrowDown");
      }
      const wanted = await Promise.all(
        [0, 1].map(async (at) => [
          names.indexOf(await filters.nth(at).getAttribute("data-filter")),
          await filters.nth(at).inputValue(),
        ]),
      );
      assert.ok(
        wanted.every(([, value]) => value),
        "the arrow chose a value",
      );
      await page.locator("#matrix-table th button").first().press("Enter");
      for (const row of await rows(page))
        assert.equal(
          row.seen,
          wanted.every(([column, value]) => row.texts[column] === value),
        );
      await page.locator("#matrix").screenshot({ path: picture("matrix-filtered") });
    }
  }),
};
