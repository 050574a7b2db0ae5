// Prints how many seconds a page takes to open, from the request until the page is drawn: `node
// opening.js PAGE.html`.
"use strict";
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const { WIDE, launch } = require("./browser");

(async () => {
  const browser = await launch();
  const page = await browser.newPage({ viewport: WIDE });
  const begun = process.hrtime.bigint();
  await page.goto(pathToFileURL(path.resolve(process.argv[2])).href, { waitUntil: "load" });
  // The second frame begins when the first is drawn.
  await page.evaluate(
    () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
  );
  console.log((Number(process.hrtime.bigint() - begun) / 1e9).toFixed(3));
  await browser.close();
})();
