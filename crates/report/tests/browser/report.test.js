// Tests reports in a browser: `node report.test.js SCREENSHOTS PAGE.html...`. The screenshots are
// for people to look at.
//
// If there is a file PAGE.shows beside PAGE.html, the text of the page has to contain each line of
// that file.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { after, before, test } = require("node:test");
const { launch, open } = require("./browser");

const [screenshots, ...files] = process.argv.slice(2);
if (!files.length) {
  console.error("usage: node report.test.js SCREENSHOTS PAGE.html...");
  process.exit(2);
}
fs.mkdirSync(screenshots, { recursive: true });

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

const parts = ["page", "matrix", "pictures", "trials", "looks", "print", "without-script"].map(
  (name) => require(`./${name}`),
);

/**
 * Returns what a check needs to know about a report: its file, a function that opens it, the texts
 * that it has to show, and the paths for screenshots and for the PDF.
 */
function report(file) {
  const name = path.basename(file, ".html");
  const shows = file.replace(/html$/, "shows");
  return {
    file,
    open: (options) => open(browser, path.resolve(file), options),
    shows: fs.existsSync(shows) ? fs.readFileSync(shows, "utf8").split("\n").filter(Boolean) : [],
    picture: (state) => path.join(screenshots, `${name}-${state}.png`),
    paper: path.join(screenshots, `${name}.pdf`),
  };
}

for (const file of files) {
  for (const [what, check] of parts.flatMap(Object.entries)) {
    test(`${path.basename(file)} ${what}`, async (context) => {
      await check(report(file), context);
      for (const opened of browser.contexts()) await opened.close();
    });
  }
}
