// Tests that the page as a document is complete, requests nothing, and contains no markup or script
// from the texts of records.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { unfoldAll } = require("./browser");

const SOURCES = path.join(__dirname, "../../src");
const PANELS = path.join(SOURCES, "panels");

/** Returns the names of all panels, from the files that declare them. */
function registry() {
  const files = fs.readdirSync(PANELS).filter((name) => name.endsWith(".rs"));
  return files.map((file) => {
    const found = /\bPANEL: Panel =[^;]*?\bname: "([a-z-]+)"/s.exec(
      fs.readFileSync(path.join(PANELS, file), "utf8"),
    );
    assert.ok(found, `${file} declares no panel`);
    return found[1];
  });
}

/** Returns the scripts that may run on a page: the page's own, and those of panels. */
const scripts = () =>
  [
    path.join(SOURCES, "page.js"),
    ...fs
      .readdirSync(PANELS)
      .filter((name) => name.endsWith(".js"))
      .map((name) => path.join(PANELS, name)),
  ].map((file) => fs.readFileSync(file, "utf8"));

module.exports = {
  "asks nobody for anything, and nothing goes wrong": async ({ file, open, picture }, context) => {
    const page = await open();
    await page.screenshot({ path: picture("first-screen") });
    await unfoldAll(page);
    const times = await page.evaluate(() => {
      const { domContentLoadedEventEnd, loadEventEnd } =
        performance.getEntriesByType("navigation")[0];
      return [domContentLoadedEventEnd, loadEventEnd].map(Math.round);
    });
    context.diagnostic(
      `${path.basename(file)}: opened in ${times[1]} ms, its document complete after ` +
        `${times[0]} ms, ${fs.statSync(file).size} bytes`,
    );
    const foreign = await page.evaluate(() => {
      const all = [
        ...document.querySelectorAll("[src],[srcset],[href],[xlink\\:href],[action],[ping],[data]"),
      ];
      const given = all.flatMap((it) =>
        ["src", "srcset", "href", "xlink:href", "action", "ping"].map((name) => [
          it,
          it.getAttribute(name),
        ]),
      );
      const within = (to) => to.startsWith("#") || to.startsWith("data:image/png;base64,");
      return given
        .filter(([it, to]) => to && !within(to) && it.tagName !== "A")
        .map(([it]) => it.outerHTML.slice(0, 200));
    });
    assert.deepEqual(foreign, [], "what would be fetched");
    const styles = await page.evaluate(() =>
      [...document.querySelectorAll("style,[style]")].map(
        (it) => it.textContent + (it.getAttribute("style") ?? ""),
      ),
    );
    assert.ok(
      !styles.some((text) => /@import|url\(\s*["']?(?!#|data:)/.test(text)),
      "a style that fetches",
    );
    assert.deepEqual(page.asked, [], "requests");
    assert.deepEqual(page.wrong, [], "errors and warnings");
  },

  "has every panel, each with something in it": async ({ open }) => {
    const page = await open();
    const listed = await page.$$eval("nav a", (links) =>
      links.map((link) => link.getAttribute("href").slice(1)),
    );
    const there = await page.$$eval("main section[data-panel]", (all) =>
      all.map((panel) => ({
        name: panel.id,
        title: panel.querySelector("h2").textContent,
        data: panel.querySelectorAll("tbody tr, svg[role=img], dl dd, li, pre").length,
        missing: [...panel.querySelectorAll(":scope > .missing")].map((why) => why.textContent),
      })),
    );
    assert.deepEqual(
      there.map((panel) => panel.name),
      listed,
      "the index and the panels",
    );
    const absent = registry().filter((name) => !listed.includes(name));
    assert.deepEqual(
      listed.filter((name) => !registry().includes(name)),
      [],
      "panels that are not of src/panels",
    );
    assert.deepEqual(
      absent.filter((name) => !name.startsWith("sweep-")),
      [],
      "left out, though no panel of ranges",
    );
    for (const panel of there) {
      assert.ok(panel.title, panel.name);
      assert.ok(
        panel.data > 0 || panel.missing.length === 1,
        `${panel.name} shows nothing and does not say why`,
      );
      for (const why of panel.missing)
        assert.match(why, /^\p{Lu}.{10,}\.$/su, `${panel.name}: not a sentence`);
    }
  },

  "has headings in order, ids that are each there once, and links that lead somewhere": async ({
    open,
  }) => {
    const page = await open();
    await unfoldAll(page);
    const found = await page.evaluate(() => {
      const ids = [...document.querySelectorAll("[id]")].map((it) => it.id);
      const refers = (name) =>
        [...document.querySelectorAll(`[${name}]`)].flatMap((it) =>
          it.getAttribute(name).split(" "),
        );
      const wanted = [
        ...refers("aria-labelledby"),
        ...refers("aria-describedby"),
        ...refers("aria-controls"),
      ];
      for (const link of document.querySelectorAll("a[href^='#']"))
        wanted.push(decodeURIComponent(link.getAttribute("href").slice(1)));
      const levels = [...document.querySelectorAll("h1,h2,h3,h4,h5,h6")].map((it) =>
        Number(it.tagName[1]),
      );
      return {
        twice: ids.filter((id, at) => ids.indexOf(id) !== at),
        nowhere: [...new Set(wanted)].filter((id) => !document.getElementById(id)),
        levels,
      };
    });
    assert.deepEqual(found.twice, [], "ids");
    assert.deepEqual(found.nowhere, [], "references");
    assert.equal(found.levels.filter((level) => level === 1).length, 1);
    found.levels.reduce(
      (before, level, at) => (
        assert.ok(level <= before + 1, `heading ${at + 1}: h${level} after h${before}`),
        level
      ),
      0,
    );
  },

  "shows texts of records as text": async ({ open, shows }) => {
    const page = await open();
    const found = await page.evaluate(() => ({
      scripts: [...document.querySelectorAll("script:not([type='text/plain'])")].map(
        (it) => it.textContent,
      ),
      styles: document.querySelectorAll("style").length,
      foreign: [
        ...document.querySelectorAll("img,iframe,object,embed,link,base,foreignObject,form"),
      ].map((it) => it.outerHTML),
      handlers: [...document.querySelectorAll("*")].filter((it) =>
        it.getAttributeNames().some((name) => name.startsWith("on")),
      ).length,
      controls:
        /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.exec(
          document.documentElement.outerHTML,
        )?.[0] ?? null,
      text: document.body.textContent,
      title: document.title,
    }));
    const known = scripts();
    assert.deepEqual(
      found.scripts.filter((text) => !known.includes(text)),
      [],
      "a script that is none of src",
    );
    assert.ok(found.scripts.length <= known.length);
    assert.deepEqual([found.styles, found.handlers], [1, 0], "style sheets, handlers");
    assert.deepEqual(found.foreign, []);
    assert.equal(found.controls, null, "a control character");
    for (const text of shows) assert.ok(found.text.includes(text), `not to be seen: ${text}`);
  },

  "goes through folded parts and links by keyboard": async ({ open }) => {
    const page = await open();
    await page.keyboard.press("Tab");
    assert.equal(
      await page.evaluate(() => document.activeElement.className),
      "skip",
      "the first stop leads past the index",
    );
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => location.hash), "#content");
    // The first visible part of each kind is tried. A kind is a panel and a class.
    const count = await page.evaluate(() => {
      const kinds = new Map();
      for (const it of document.querySelectorAll("main details")) {
        const kind = `${it.closest("section").id} ${it.className}`;
        if (it.checkVisibility() && !kinds.has(kind)) kinds.set(kind, it);
      }
      [...kinds.values()].forEach((it, at) => (it.dataset.tried = at));
      return kinds.size;
    });
    for (let at = 0; at < count; at += 1) {
      const part = page.locator(`[data-tried="${at}"]`);
      const open = () => part.evaluate((it) => it.open);
      const first = await open();
      await part.locator("> summary").focus();
      await page.keyboard.press("Enter");
      assert.equal(await open(), !first, "Enter");
      await page.keyboard.press("Space");
      assert.equal(await open(), first, "the space bar");
    }
    // A link into a folded part unfolds it.
    const link = page.locator("#matrix tbody th a").last();
    if (await link.count()) {
      await link.focus();
      await page.keyboard.press("Enter");
      const id = (await link.getAttribute("href")).slice(1);
      // The browser tells the page of the new fragment some time after the key.
      const unfolds = page.locator(`[id="${id}"]`).evaluate(async (it) => {
        const end = performance.now() + 5000;
        const open = () => it.open ?? it.checkVisibility();
        while (!open() && performance.now() < end) await new Promise(requestAnimationFrame);
        return open();
      });
      assert.ok(await unfolds, `${id} stays folded`);
    }
  },
};
