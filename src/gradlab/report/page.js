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
      const names = layout.showlegend ? data.filter((trace) => trace.showlegend !== false).length : 0;
      if (names > 2 && place.clientWidth < 400) {
        // The names stand below each other, and would take the room of the curves.
        layout.height += 19 * (names - 1);
        place.style.height = `${layout.height}px`;
      }
      Plotly.react(place, data, layout, { displayModeBar: false, responsive: true });
    }
  };
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
