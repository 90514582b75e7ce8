// Draws every figure of the page with the colours of style.css, and again when the reader turns light or dark.
(() => {
  const places = [...document.querySelectorAll(".chart")];
  const draw = () => {
    const style = getComputedStyle(document.documentElement);
    const filled = (key, value) => {
      const variable = typeof value === "string" && value.match(/^var\((--[a-z]+)\)$/);
      return variable ? style.getPropertyValue(variable[1]).trim() : value;
    };
    for (const place of places) {
      const { data, layout } = JSON.parse(place.nextElementSibling.textContent, filled);
      Plotly.react(place, data, layout, { displayModeBar: false, responsive: true });
    }
  };
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
