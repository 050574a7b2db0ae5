// A report in Debian's chromium, with everything written down that it asks for and complains about.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const { chromium } = require("playwright-core");

const WIDE = { width: 1600, height: 1000 };

/** The browser's file: $CHROMIUM, or `chromium` of the PATH. */
function executable() {
  const name = process.env.CHROMIUM || "chromium";
  const folders = name.includes("/") ? [""] : process.env.PATH.split(":");
  const found = folders
    .map((folder) => path.join(folder, name))
    .find((file) => fs.existsSync(file));
  if (!found)
    throw new Error(`${name} is not here; install Debian's package chromium, or set CHROMIUM`);
  return found;
}

/**
 * Without its sandbox, which root cannot have: it opens pages of our own only. No name is ever
 * looked up.
 */
const launch = () =>
  chromium.launch({
    executablePath: executable(),
    args: ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND"],
  });

/**
 * Opens `file` in a context of its own. `options` are playwright's, of a context. What the page
 * asked for besides itself is in `page.asked`, what went wrong in it in `page.wrong`.
 */
async function open(browser, file, options = {}) {
  const context = await browser.newContext({
    viewport: WIDE,
    colorScheme: "light",
    acceptDownloads: true,
    ...options,
  });
  const page = await context.newPage();
  const url = pathToFileURL(file).href;
  page.asked = [];
  page.wrong = [];
  page.on("request", (request) => {
    if (request.url() !== url && !/^(data|blob):/.test(request.url()))
      page.asked.push(request.url());
  });
  page.on("websocket", (socket) => page.asked.push(socket.url()));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) page.wrong.push(message.text());
  });
  page.on("pageerror", (error) => page.wrong.push(String(error)));
  page.on("dialog", (dialog) => {
    page.wrong.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.goto(url, { waitUntil: "load" });
  return page;
}

/** Unfolds all that is folded; with JavaScript, pictures get their tools then. */
const unfoldAll = (page) =>
  page.evaluate(() =>
    document.querySelectorAll("details").forEach((details) => (details.open = true)),
  );

module.exports = { WIDE, executable, launch, open, unfoldAll };
