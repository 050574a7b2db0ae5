// Other trials than the two that the page shows: their pictures are in it, packed.
"use strict";
(() => {
  const panel = document.getElementById("over-time");
  const packed = [...panel.querySelectorAll("script[data-trial]")];
  const bar = panel.querySelector("[data-choose]");
  if (packed.length < 2 || !bar || !window.DecompressionStream) return;
  const unpack = async (script) => {
    const bytes = Uint8Array.from(atob(script.textContent.trim()), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const scales = { a: packed[0].dataset.scale, b: packed[0].dataset.scale };
  const wanted = {};
  const show = async (side, script) => {
    wanted[side] = script;
    const unpacked = await unpack(script);
    // Something else was chosen meanwhile.
    if (wanted[side] !== script) return;
    const template = document.createElement("template");
    template.innerHTML = unpacked.replaceAll("over-time-pair-side-", `over-time-pair-${side}-`);
    for (const figure of template.content.querySelectorAll("figure")) document.getElementById(figure.id)?.replaceWith(figure);
    scales[side] = script.dataset.scale;
    panel.querySelector("[data-apart]").hidden = scales.a === scales.b;
    const pair = panel.querySelector("details.group");
    pair.dataset.cell = [...bar.querySelectorAll("select")].map((select) => select.value).join(" and ");
    pair.querySelector("summary h3").textContent = pair.dataset.cell;
    // The page equips the pictures of what is unfolded.
    pair.dispatchEvent(new Event("toggle"));
  };
  for (const [side, word] of [["a", "Left"], ["b", "Right"]]) {
    if (!bar.dataset[side]) continue;
    const select = document.createElement("select");
    select.dataset.side = side;
    for (const script of packed) select.append(new Option(script.dataset.trial, script.dataset.trial));
    select.value = bar.dataset[side];
    select.addEventListener("change", () => show(side, packed[select.selectedIndex]));
    const label = document.createElement("label");
    label.append(`${word}: `, select);
    bar.append(label);
  }
  bar.hidden = false;
})();
