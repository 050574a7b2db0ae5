// Tests that each picture has a description and a table of its numbers, and can be shown larger and
// saved as a file.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const { unfoldAll } = require("./browser");

/** Returns the first visible picture of each kind in each panel. */
async function kinds(page) {
  const ids = await page.$$eval("figure.chart", (all) => {
    const first = new Map();
    for (const it of all) {
      const kind = `${it.closest("section").id} ${it.dataset.chart}`;
      if (it.checkVisibility() && !first.has(kind)) first.set(kind, it.id);
    }
    return [...first.values()];
  });
  return ids.map((id) => page.locator(`[id="${id}"]`));
}

async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return { name: download.suggestedFilename(), bytes: fs.readFileSync(await download.path()) };
}

/** Returns the contents of a standalone SVG as the browser parses them. */
const read = (page, text) =>
  page.evaluate((text) => {
    const document = new DOMParser().parseFromString(text, "image/svg+xml");
    const all = [...document.querySelectorAll("*")];
    // The document is drawn to measure how far the title above the picture reaches.
    const drawn = window.document.body.appendChild(
      window.document.importNode(document.documentElement, true),
    );
    const reach = drawn.querySelector(":scope > text").getComputedTextLength() + 12;
    drawn.remove();
    const links = all.flatMap((it) =>
      it.getAttributeNames().map((name) => [name, it.getAttribute(name)]),
    );
    return {
      wrong: document.querySelector("parsererror")?.textContent ?? null,
      root: document.documentElement.localName,
      size: ["width", "height"].map((name) => Number(document.documentElement.getAttribute(name))),
      reach,
      metadata: document.querySelector("metadata")?.textContent ?? "",
      title: document.querySelector("svg > title")?.textContent ?? "",
      says: document.querySelector("desc")?.textContent ?? "",
      shapes: document.querySelectorAll("path,rect,circle,line,polyline,polygon").length,
      foreign: links.filter(
        ([name, value]) =>
          (/href$|^src$/.test(name) && !/^(#|data:image\/png;base64,)/.test(value)) ||
          /^on/.test(name) ||
          /url\((?!#)/.test(value),
      ),
      scripts: document.querySelectorAll("script,foreignObject").length,
      variables: text.includes("var(--"),
    };
  }, text);

/**
 * Makes the page draw frames all the time. Without frames, the browser considers itself busy, and
 * delays each `toBlob` by a second.
 */
const withFrames = (page) =>
  page.evaluate(() => {
    const again = () => requestAnimationFrame(again);
    again();
  });

module.exports = {
  "describes each picture and has its numbers": async ({ open }, context) => {
    const page = await open();
    await unfoldAll(page);
    const all = await page.$$eval("figure.chart", (figures) =>
      figures.map((figure) => ({
        id: figure.id,
        role: figure.querySelector("svg").getAttribute("role"),
        title: figure.querySelector("svg").getAttribute("aria-label"),
        says: figure.querySelector("svg > desc")?.textContent ?? "",
        caption: figure.querySelector("figcaption")?.textContent ?? "",
        rows: figure.querySelectorAll("tbody tr").length,
        scopes: [...figure.querySelectorAll("th")].every((head) => head.scope),
        tools: figure.querySelectorAll(".tools button").length,
      })),
    );
    if (!all.length) return context.skip("this report has no pictures");
    for (const it of all) {
      assert.equal(it.role, "img", it.id);
      assert.ok(it.title && it.caption, `${it.id} has no title`);
      assert.ok(it.says.length > 10, `${it.id} says nothing: ${it.says}`);
      assert.ok(
        it.rows > 0 && it.scopes,
        `${it.id} has no table of its numbers, or one whose heads have no scope`,
      );
      assert.ok(it.tools >= 3, `${it.id} cannot be saved`);
    }
  },

  "tells the row of the numbers where the pointer is": async ({ open, picture }, context) => {
    const page = await open();
    const figures = page.locator("figure.chart:has(svg[data-edges])");
    const shown = [];
    for (const figure of await figures.all()) if (await figure.isVisible()) shown.push(figure);
    if (!shown.length) return context.skip("no picture of this report has rows along its width");
    for (const figure of shown) {
      const svg = figure.locator("svg");
      const edges = (await svg.getAttribute("data-edges")).split(" ").map(Number);
      const rows = await figure
        .locator("tbody tr")
        .evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
      const heads = await figure.locator("thead th").allTextContents();
      const id = await figure.getAttribute("id");
      assert.equal(edges.length, rows.length + 1, `${id}: as many places as rows`);
      assert.ok(
        edges.every((edge, at) => at === 0 || edge >= edges[at - 1]),
        `${id}: ${edges}`,
      );
      await svg.scrollIntoViewIfNeeded();
      const frame = await svg.boundingBox();
      const natural = Number((await svg.getAttribute("viewBox")).split(" ")[2]);
      const widest = [...rows.keys()].reduce((a, b) =>
        edges[b + 1] - edges[b] > edges[a + 1] - edges[a] ? b : a,
      );
      const middle = (edges[widest] + edges[widest + 1]) / 2;
      await page.mouse.move(frame.x + (middle / natural) * frame.width, frame.y + frame.height / 3);
      const told = (await figure.locator(".hover").textContent()).split("\n");
      const [place, ...values] = rows[widest];
      assert.deepEqual(
        told,
        [`${heads[0]} ${place}`, ...values.map((value, at) => `${heads[at + 1]}: ${value}`)],
        id,
      );
      if (id.includes("tail")) await figure.screenshot({ path: picture("row") });
    }
    await page.mouse.move(0, 0);
    assert.deepEqual([page.asked, page.wrong], [[], []]);
  },

  "tells values at the pointer": async ({ open, picture }, context) => {
    const page = await open();
    const pictures = await kinds(page);
    if (!pictures.length) return context.skip("this report has no pictures");
    let told = 0;
    for (const figure of pictures) {
      const marked = figure.locator("svg g.tt > :not(title)");
      if (!(await marked.count())) continue;
      const mark = marked.first();
      await mark.scrollIntoViewIfNeeded();
      const { x, y, width, height } = await mark.boundingBox();
      await page.mouse.move(x + width / 2, y + height / 2);
      const box = figure.locator(".hover");
      assert.ok(
        await box.isVisible(),
        `${await figure.getAttribute("id")}: nothing at the pointer`,
      );
      const told_here = await box.textContent();
      assert.match(told_here, /\d|no result/);
      assert.equal(
        await figure.locator("svg g > title").count(),
        0,
        "the browser would show them once more",
      );
      const frames = await Promise.all(
        [figure.locator(".picture"), box].map((it) => it.boundingBox()),
      );
      assert.ok(
        frames[1].x + frames[1].width <= frames[0].x + frames[0].width + 1,
        `cut off: ${told_here}`,
      );
      if (!told) await figure.screenshot({ path: picture("hover") });
      told += 1;
      await page.mouse.move(0, 0);
      assert.ok(await box.isHidden());
    }
    assert.ok(told > 0, "no picture tells a value");
  },

  "saves pictures as SVG and as PNG, and shows them larger": async ({ open, picture }, context) => {
    for (const colorScheme of ["light", "dark"]) {
      const page = await open({ colorScheme });
      await withFrames(page);
      const pictures = await kinds(page);
      if (!pictures.length) return context.skip("this report has no pictures");
      // In dark colours, one picture is enough, because only the colours differ.
      for (const [at, figure] of pictures
        .slice(0, colorScheme === "light" ? undefined : 1)
        .entries()) {
        const id = await figure.getAttribute("id");
        const caption = await figure
          .locator("figcaption")
          .evaluate((it) => it.firstChild.textContent);
        const button = (name) => figure.getByRole("button", { name: new RegExp(`^${name}`) });
        const svg = await saved(page, button("SVG"));
        assert.equal(svg.name, `${id}.svg`);
        const inside = await read(page, svg.bytes.toString("utf8"));
        assert.deepEqual(
          [inside.wrong, inside.root, inside.foreign, inside.scripts, inside.variables],
          [null, "svg", [], 0, false],
          id,
        );
        assert.match(inside.metadata, /disklab/);
        const about = await figure.locator("figcaption .about").allTextContents();
        assert.ok(
          about.every((it) => inside.title === `${caption}: ${it}`),
          `its title: ${inside.title}`,
        );
        assert.ok(inside.title.startsWith(caption), `its title: ${inside.title}`);
        assert.ok(
          inside.says.length > 10 && inside.shapes > 0 && inside.size.every((side) => side > 50),
          id,
        );
        assert.ok(inside.reach <= inside.size[0], `${id}: its title is cut off`);
        const png = await saved(page, button("PNG"));
        assert.equal(png.name, `${id}.png`);
        assert.equal(png.bytes.subarray(0, 8).toString("hex"), "89504e470d0a1a0a");
        assert.deepEqual(
          [png.bytes.readUInt32BE(16), png.bytes.readUInt32BE(20)],
          inside.size.map((side) => Math.round(side * 2)),
        );
        assert.ok(png.bytes.length > 5000, `${id}: an empty picture`);
        fs.writeFileSync(picture(`saved-${colorScheme}-${at + 1}`), png.bytes);
        const width = async () => (await figure.locator("svg").boundingBox()).width;
        const before = await width();
        await button("Larger").press("Enter");
        assert.equal(await button("Larger").getAttribute("aria-pressed"), "true");
        assert.ok((await width()) > before * 1.5, "larger");
        await button("Larger").press("Enter");
        assert.equal(await width(), before);
      }
      assert.deepEqual([page.asked, page.wrong], [[], []]);
    }
  },
};
