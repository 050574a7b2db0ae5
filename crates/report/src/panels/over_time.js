// Shows the pictures of the trials that the reader chooses. The page holds their pictures in
// compressed form, except for the trials that it begins with.
"use strict";
(() => {
  const panel = document.getElementById("over-time");
  const packed = [...panel.querySelectorAll("script[data-trial]")];
  const bar = panel.querySelector("[data-choose]");
  if (!packed.length || !bar || !window.DecompressionStream) return;
  // A page that begins with only one trial has no side b.
  const sides = ["a", "b"].filter((letter) => bar.dataset[letter]);
  // Renames the pictures in `text` from one side to the other.
  const side = (text, from, to) =>
    text
      .replaceAll(`over-time-pair-${from}-`, `over-time-pair-${to}-`)
      .replaceAll(`data-chart="${from}-`, `data-chart="${to}-`);
  const figures = (letter) => [
    ...panel.querySelectorAll(`figure.chart[id^="over-time-pair-${letter}-"]`),
  ];
  // The first trials have no compressed pictures. Their markup is kept here as it is before page.js
  // adds the tools.
  const first = {};
  for (const letter of sides)
    first[letter] = side(
      figures(letter)
        .map((it) => it.outerHTML)
        .join(""),
      letter,
      "side",
    );
  const unpack = async (script) => {
    if (script.dataset.shown) return first[script.dataset.shown];
    const bytes = Uint8Array.from(atob(script.textContent.trim()), (letter) =>
      letter.charCodeAt(0),
    );
    return new Response(
      new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")),
    ).text();
  };
  const scaleOf = (trial) => packed.find((script) => script.dataset.trial === trial)?.dataset.scale;
  const scales = Object.fromEntries(sides.map((letter) => [letter, scaleOf(bar.dataset[letter])]));
  const wanted = {};
  const show = async (letter, script) => {
    wanted[letter] = script;
    const unpacked = await unpack(script);
    // The reader has chosen another trial meanwhile.
    if (wanted[letter] !== script) return;
    const template = document.createElement("template");
    template.innerHTML = side(unpacked, "side", letter);
    for (const figure of template.content.querySelectorAll("figure"))
      document.getElementById(figure.id)?.replaceWith(figure);
    scales[letter] = script.dataset.scale;
    panel.querySelector("[data-apart]").hidden = new Set(Object.values(scales)).size < 2;
    const pair = panel.querySelector("details.group");
    pair.dataset.cell = [...bar.querySelectorAll("select")]
      .map((select) => select.value)
      .join(" and ");
    pair.querySelector("summary h3").textContent = pair.dataset.cell;
    // page.js adds the tools to the pictures of a group when the group is unfolded.
    pair.dispatchEvent(new Event("toggle"));
  };
  const words = sides.length < 2 ? ["Trial"] : ["Left", "Right"];
  for (const [at, letter] of sides.entries()) {
    const select = document.createElement("select");
    select.dataset.side = letter;
    for (const script of packed)
      select.append(new Option(script.dataset.trial, script.dataset.trial));
    select.value = bar.dataset[letter];
    select.addEventListener("change", () => show(letter, packed[select.selectedIndex]));
    const label = document.createElement("label");
    label.append(`${words[at]}: `, select);
    bar.append(label);
  }
  bar.hidden = false;
})();
