// Tests the report on paper.
"use strict";
const assert = require("node:assert/strict");
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");

/** The size in CSS pixels of an A4 page without its margins of 12 mm. */
const PAPER = { width: 703, height: 1032 };
const FORMAT = {
  format: "A4",
  margin: { top: "12mm", right: "12mm", bottom: "12mm", left: "12mm" },
};

/**
 * Returns the last line of each page of a PDF except the last page, without the triangles that mark
 * folded parts. Returns null if pdftotext does not run.
 */
function lastLines(paper) {
  const { error, stdout } = spawnSync("pdftotext", ["-layout", paper, "-"], {
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  if (error) return null;
  const pages = stdout.split("\f").slice(0, -2);
  return pages.map((page) => plain(page.split("\n").findLast((line) => line.trim()) ?? ""));
}
const plain = (text) => text.replaceAll(/[▸▾]/g, "").replaceAll(/\s+/g, " ").trim();

module.exports = {
  "prints all that matters, and cuts nothing": async ({ open, picture, paper }) => {
    // The printed page is white, even if the screen shows dark colours.
    const page = await open({ colorScheme: "dark", viewport: PAPER });
    const unfolded = await page.$$eval(
      "main figure.chart",
      (all) => all.filter((it) => it.checkVisibility()).length,
    );
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
          .filter(
            (it) =>
              seen(it) &&
              !it.closest("svg") &&
              it.scrollWidth > it.clientWidth + 1 &&
              getComputedStyle(it).overflowX !== "visible",
          )
          .map(name),
        beyond: [...document.querySelectorAll("main *, main svg text")]
          .filter((it) => seen(it) && it.getBoundingClientRect().right > within)
          .map(name),
        ground: getComputedStyle(document.body).backgroundColor,
      };
    });
    assert.deepEqual(
      { ...found, cut: found.cut.slice(0, 5), beyond: found.beyond.slice(0, 5) },
      {
        panels: [],
        rows: 0,
        figures: unfolded,
        controls: [],
        cut: [],
        beyond: [],
        ground: "rgb(255, 255, 255)",
      },
    );
    await page.screenshot({ path: picture("print"), fullPage: true });
    const pdf = await page.pdf({ path: paper, ...FORMAT });
    assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
    assert.ok(fs.statSync(paper).size > 10_000);
    assert.deepEqual([page.asked, page.wrong], [[], []]);
  },
  "leaves no heading alone at a page's end": async ({ open, paper }, context) => {
    // Different numbers of groups are unfolded, so that headings are at many heights of a page.
    for (const unfolded of [0, 1, 3]) {
      const page = await open({ viewport: PAPER });
      const headings = await page.evaluate((unfolded) => {
        for (const panel of document.querySelectorAll("section.panel"))
          panel.querySelectorAll("details.group").forEach((it, at) => (it.open ||= at < unfolded));
        const within = (state) =>
          [...document.querySelectorAll(`details.group${state} > summary > *`)].map(
            (it) => it.innerText,
          );
        const others = [...document.querySelectorAll("h2, h3:not(summary *), figcaption")].filter(
          (it) => it.checkVisibility(),
        );
        // A folded group may end a page. A heading with the same text cannot be told apart from it,
        // and is left out.
        const folded = within(":not([open])");
        return [
          ...others.map((it) => it.innerText),
          ...within("[open]").filter((text) => !folded.includes(text)),
        ];
      }, unfolded);
      await page.pdf({ path: paper, ...FORMAT });
      const last = lastLines(paper);
      if (!last)
        return context.skip("pdftotext does not run here; install Debian's package poppler-utils");
      // The last line of a page may be the end of a long heading. A line of at most 20 letters does
      // not count as such an end: it may belong to an axis, or be a condition's name and value.
      const ends = (heading, line) =>
        heading === line || (line.length > 20 && heading.endsWith(line));
      const alone = last.filter((line) => headings.some((heading) => ends(plain(heading), line)));
      assert.deepEqual(alone, [], `${unfolded} of each panel unfolded`);
      await page.close();
    }
  },
};
