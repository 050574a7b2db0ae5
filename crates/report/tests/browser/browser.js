// Opens reports in Debian's chromium, and records every request and every complaint of a page.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const { chromium } = require("playwright-core");

const WIDE = { width: 1600, height: 1000 };

/** Returns the path of the browser's program: $CHROMIUM, or `chromium` in the PATH. */
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
 * Starts the browser. Its sandbox is off, because root cannot have one and the browser opens only
 * our own pages. The browser looks up no host name.
 */
const launch = () =>
  chromium.launch({
    executablePath: executable(),
    args: ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND"],
  });

/**
 * Opens `file` in a browser context of its own, with playwright's `options` for contexts.
 * `page.asked` lists the requests for anything but the page itself. `page.wrong` lists the errors,
 * warnings and dialogs of the page.
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

/** Unfolds all parts of the page. With JavaScript, the pictures then get their tools. */
const unfoldAll = (page) =>
  page.evaluate(() =>
    document.querySelectorAll("details").forEach((details) => (details.open = true)),
  );

module.exports = { WIDE, executable, launch, open, unfoldAll };
