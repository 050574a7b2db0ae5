// The page is complete without this script. The script adds sorting and filtering of tables, values
// at the pointer, larger pictures, and downloads.
"use strict";
(() => {
  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };

  // Puts a button into each head of a table, which sorts the rows by that column. A column of
  // numbers is sorted by data-value. Rows without a data-value come last in both directions.
  const sortable = (table) => {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = make("button", { type: "button", textContent: head.textContent });
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const key = (row) => {
          const cell = row.cells[column];
          if ("numbers" in head.dataset)
            return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
          return cell.textContent.trim();
        };
        const compare = (a, b) =>
          typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
        const rows = [...body.rows].map((row) => [key(row), row]);
        rows.sort(([a], [b]) =>
          a === null ? (b === null ? 0 : 1) : b === null ? -1 : (up ? 1 : -1) * compare(a, b),
        );
        body.append(...rows.map(([, row]) => row));
      });
    });
    filterable(table, body);
  };

  // Adds a choice of values above a table for each axis that has several, and the number of rows
  // that fit the choices.
  const filterable = (table, body) => {
    const bar = make("div", { className: "filters" });
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "Filter");
    const shown = make("output");
    const filters = [];
    const apply = () => {
      let count = 0;
      for (const row of body.rows) {
        const fits = filters.every(
          ([column, select]) => !select.value || value(row.cells[column]) === select.value,
        );
        row.hidden = !fits;
        count += fits;
      }
      shown.textContent = `${count} of ${body.rows.length} rows`;
    };
    const value = (cell) => cell.textContent.trim();
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (!head.dataset.axis) return;
      const values = [...new Set([...body.rows].map((row) => value(row.cells[column])))];
      if (values.length < 2) return;
      const select = make("select", {}, make("option", { value: "", textContent: "all" }));
      values.forEach((text) => select.append(make("option", { value: text, textContent: text })));
      select.dataset.filter = head.dataset.axis;
      select.addEventListener("change", apply);
      filters.push([column, select]);
      bar.append(make("label", {}, head.dataset.axis, select));
    });
    bar.append(shown);
    apply();
    table.closest(".scroll").before(bar);
  };
  document.querySelectorAll("table[data-sortable]").forEach(sortable);

  // Unfolds every group that holds the target of a link, and scrolls to the target.
  const unfold = () => {
    const target =
      location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();

  const titleOf = (figure) => {
    const [title, about] = figure.querySelector("figcaption").childNodes;
    const of = about?.textContent ?? figure.closest("details.group")?.dataset.cell;
    return title.textContent + (of ? `: ${of}` : "");
  };

  // Returns the picture of a figure as an SVG document of its own, with the colours that the
  // picture has on the page, and the size of the document.
  const standalone = (figure) => {
    const svg = figure.querySelector("svg");
    const copy = svg.cloneNode(true);
    for (const strip of copy.querySelectorAll("[data-row]")) strip.remove();
    const from = svg.querySelectorAll(":not([data-row])");
    const unseen = [];
    copy.querySelectorAll("*").forEach((element, at) => {
      if (["title", "desc"].includes(element.tagName)) return;
      const style = getComputedStyle(from[at]);
      if (style.display === "none") unseen.push(element);
      for (const name of ["fill", "stroke"])
        if (element.hasAttribute(name)) element.setAttribute(name, style[name].replaceAll('"', ""));
    });
    for (const element of unseen) element.remove();
    const says = copy.querySelector(":scope > desc");
    says.remove();
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    const ns = svg.namespaceURI;
    const title = 34;
    const outer = document.createElementNS(ns, "svg");
    Object.entries({
      width,
      height: height + title,
      viewBox: `0 0 ${width} ${height + title}`,
      "font-family": "sans-serif",
    }).forEach(([name, value]) => outer.setAttribute(name, value));
    const style = getComputedStyle(document.body);
    const add = (name, attributes, text = "") => {
      const element = document.createElementNS(ns, name);
      Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
      element.textContent = text;
      outer.append(element);
      return element;
    };
    add("title", {}, titleOf(figure));
    outer.append(says);
    add("metadata", {}, document.querySelector("footer").textContent);
    if (copy.querySelector('[fill*="#hatch-"]')) {
      const tiles = document.querySelector(".hatches defs").cloneNode(true);
      for (const way of tiles.querySelectorAll("path"))
        way.setAttribute("stroke", style.backgroundColor);
      outer.append(tiles);
    }
    add("rect", { width: "100%", height: "100%", fill: style.backgroundColor });
    // A long title gets smaller letters. A letter is about 0.65 times its font size wide.
    const size = Math.min(15, (width - 24) / (titleOf(figure).length * 0.65));
    add(
      "text",
      { x: 12, y: 22, "font-size": size, "font-weight": 600, fill: style.color },
      titleOf(figure),
    );
    add("g", { transform: `translate(0,${title})` }).append(...copy.childNodes);
    return { text: new XMLSerializer().serializeToString(outer), width, height: height + title };
  };
  const save = (blob, name) => {
    const link = make("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const saveSvg = (figure) =>
    save(new Blob([standalone(figure).text], { type: "image/svg+xml" }), `${figure.id}.svg`);
  const savePng = (figure) => {
    const { text, width, height } = standalone(figure);
    const image = new Image();
    image.onload = () => {
      const canvas = make("canvas", { width: width * 2, height: height * 2 });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(blob, `${figure.id}.png`));
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  };

  // Shows the value at the pointer in a box. The values are the titles inside the drawing. They
  // are removed from the drawing, or the browser would show them too, a second later.
  const hovering = (picture) => {
    const box = make("div", { className: "hover", hidden: true });
    picture.append(box);
    for (const title of picture.querySelectorAll("g > title")) {
      title.parentElement.dataset.value = title.textContent;
      title.remove();
    }
    // Each row of the table gets a transparent strip over its part of the width.
    const svg = picture.querySelector("svg");
    const edges = svg.dataset.edges?.split(" ").map(Number) ?? [];
    for (const [at, from] of edges.slice(0, -1).entries()) {
      const strip = document.createElementNS(svg.namespaceURI, "rect");
      Object.entries({
        "data-row": at,
        x: from,
        width: edges[at + 1] - from,
        height: "100%",
      }).forEach(([name, value]) => strip.setAttribute(name, value));
      svg.append(strip);
    }
    // Returns the text of a row of the table, with a line for each column after the first.
    const row = (at) => {
      const table = picture.parentElement.querySelector("details.numbers table");
      const [of, ...names] = [...table.tHead.rows[0].cells].map((it) => it.textContent);
      const [place, ...values] = [...table.tBodies[0].rows[at].cells].map((it) => it.textContent);
      return [`${of} ${place}`, ...names.map((name, index) => `${name}: ${values[index]}`)].join(
        "\n",
      );
    };
    picture.addEventListener("pointermove", (event) => {
      const mark = event.target.closest?.("[data-value],[data-row]");
      box.hidden = !mark;
      if (!mark) return;
      box.textContent = mark.dataset.value ?? row(Number(mark.dataset.row));
      const frame = picture.getBoundingClientRect();
      const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
      const below = y + 14 + box.offsetHeight < frame.height;
      const left = Math.max(0, Math.min(x + 12, frame.width - box.offsetWidth));
      box.style.left = `${left + picture.scrollLeft}px`;
      box.style.top = `${Math.max(0, below ? y + 14 : y - 10 - box.offsetHeight)}px`;
    });
    picture.addEventListener("pointerleave", () => (box.hidden = true));
  };

  // A picture that scrolls must be reachable by keyboard. A picture that fits need not be a stop
  // of the Tab key.
  const scrollable = (picture) => {
    const fit = () =>
      picture.scrollWidth > picture.clientWidth
        ? picture.setAttribute("tabindex", 0)
        : picture.removeAttribute("tabindex");
    const watch = new ResizeObserver(fit);
    [picture, picture.querySelector("svg")].forEach((it) => watch.observe(it));
  };

  const zoom = (figure, button) => {
    const svg = figure.querySelector("svg");
    const large = figure.classList.toggle("large");
    svg.style.maxWidth = large ? "none" : "";
    // The large picture has twice its natural width, but at least the width of its frame and at
    // most twice that.
    svg.style.width = large ? `max(100%, min(200%, calc(var(--width) * 2)))` : "";
    button.setAttribute("aria-pressed", large);
  };
  const equip = (figure) => {
    if (figure.querySelector(".tools")) return;
    const tool = (text, act) => {
      const button = make("button", { type: "button", className: "tool", textContent: text });
      button.setAttribute("aria-label", `${text}: ${titleOf(figure)}`);
      button.addEventListener("click", () => act(figure, button));
      return button;
    };
    const larger = tool("Larger", zoom);
    larger.setAttribute("aria-pressed", false);
    figure
      .querySelector(".picture")
      .after(
        make("div", { className: "tools" }, tool("SVG", saveSvg), tool("PNG", savePng), larger),
      );
    hovering(figure.querySelector(".picture"));
    scrollable(figure.querySelector(".picture"));
  };
  // Equips only the pictures that are visible, because a report may have hundreds. A group that
  // is unfolded later gets its tools then.
  const equipWithin = (root) =>
    root
      .querySelectorAll("figure.chart")
      .forEach((it) => it.checkVisibility?.() !== false && equip(it));
  equipWithin(document);
  document.addEventListener(
    "toggle",
    (event) => event.target.open && equipWithin(event.target),
    true,
  );
})();
