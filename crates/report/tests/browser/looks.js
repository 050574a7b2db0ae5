// Tests how the page looks in dark and light colours, on narrow and wide windows. axe-core checks
// that the page is accessible, including the contrast of its colours.
"use strict";
const assert = require("node:assert/strict");
const axe = require("axe-core");

/** Returns the violations that axe-core calls serious or critical, a line for each. */
async function problems(page) {
  await page.evaluate(axe.source);
  const found = await page.evaluate(() =>
    globalThis.axe.run(document, { resultTypes: ["violations"] }),
  );
  const grave = found.violations.filter((it) => ["serious", "critical"].includes(it.impact));
  return grave.map(
    (it) =>
      `${it.id}, ${it.nodes.length} times: ${it.nodes[0].target} ${it.nodes[0].failureSummary}`,
  );
}

/**
 * Returns nothing if the page fits into the window. Otherwise returns its width, and up to five
 * elements that reach beyond the window and are not inside an element that scrolls.
 */
const beyond = (page) =>
  page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width && document.body.scrollWidth <= width)
      return [];
    const scrolled = (it) => it.parentElement?.closest(".scroll, .picture, nav.contents ul");
    const wide = [...document.body.querySelectorAll("*")].filter(
      (it) => it.getBoundingClientRect().right > width + 1 && !scrolled(it),
    );
    return [
      `the page is ${document.documentElement.scrollWidth} wide of ${width}`,
      ...wide.slice(0, 5).map((it) => it.outerHTML.slice(0, 200)),
    ];
  });

/**
 * Returns the labels of pictures that cannot be read. Such a label reaches beyond the edge of its
 * picture or of its clip path, or overlaps another label.
 */
const unreadable = (page) =>
  page.$$eval("figure.chart svg", (all) => {
    const within = (box, frame) =>
      box.left > frame.left - 1 &&
      box.right < frame.right + 1 &&
      box.top > frame.top - 1 &&
      box.bottom < frame.bottom + 1;
    const over = (a, b) =>
      Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
      Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
    const clip = (it) => {
      const named = /#([^")]+)/.exec(it.closest("[clip-path]")?.getAttribute("clip-path") ?? "");
      if (!named) return null;
      // The browser lays out no box for a clip path. A copy of its rectangle is measured instead.
      const shape = document.getElementById(named[1]).querySelector("rect").cloneNode();
      shape.setAttribute("fill", "none");
      it.closest("[clip-path]").append(shape);
      const box = shape.getBoundingClientRect();
      shape.remove();
      return box;
    };
    return all
      .filter((svg) => svg.checkVisibility())
      .flatMap((svg) => {
        const frame = svg.getBoundingClientRect();
        const texts = [...svg.querySelectorAll("text")]
          .map((it) => [it, it.getBoundingClientRect()])
          .filter(([it, box]) => box.width && it.textContent.trim());
        const cut = texts.filter(
          ([it, box]) => !within(box, frame) || !within(box, clip(it) ?? frame),
        );
        const covered = texts.filter(([, box], at) =>
          texts.some(([, other], second) => second > at && over(box, other)),
        );
        const told =
          (what) =>
          ([it]) =>
            `${svg.closest("figure").id}: ${what}: ${it.textContent}`;
        return [...cut.map(told("cut off")), ...covered.map(told("covered"))];
      });
  });

const look =
  (colorScheme, width) =>
  async ({ open, picture }) => {
    const page = await open({ colorScheme, viewport: { width, height: 900 } });
    assert.deepEqual(await beyond(page), []);
    await page.screenshot({ path: picture(`${colorScheme}-${width}-first`) });
    await page.screenshot({ path: picture(`${colorScheme}-${width}`), fullPage: true });
    // The first eight parts of each panel are unfolded. A report may have hundreds of parts.
    await page.evaluate(() => {
      for (const panel of document.querySelectorAll("section"))
        panel.querySelectorAll("details").forEach((it, at) => (it.open ||= at < 8));
    });
    assert.deepEqual(await beyond(page), [], "unfolded");
    assert.deepEqual(await unreadable(page), [], "labels");
    assert.deepEqual(await problems(page), [], "unfolded");
    const dark = await page.evaluate(() =>
      getComputedStyle(document.body)
        .backgroundColor.match(/\d+/g)
        .slice(0, 3)
        .every((part) => part < 80),
    );
    assert.equal(dark, colorScheme === "dark");
    assert.deepEqual([page.asked, page.wrong], [[], []]);
  };

module.exports = {
  "is light on a wide window": look("light", 1600),
  "is dark on a wide window": look("dark", 1600),
  "is light on a narrow window": look("light", 400),
  "is dark on a narrow window": look("dark", 400),
};
