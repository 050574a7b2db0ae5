// Tests of reports in a browser: `node report.test.js SCREENSHOTS PAGE.html...`. Screenshots are
// for people to look at.
//
// Where there is a PAGE.shows beside a PAGE.html, each of its lines has to be seen on the page as
// it stands there.
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
 * What a check needs of one report: its file, to open it, what has to be seen on it, and where
 * screenshots go.
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
