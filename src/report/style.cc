#include "report/style.h"

#include <algorithm>
#include <vector>

#include "base/sha256.h"

namespace whet {
namespace {

constexpr std::string_view kStyle = R"(:root{color-scheme:light dark;
--paper:#fffef9;--ink:#1d1d1b;--soft:#63625d;--faint:#dcd9cf;--grid:#ebe8df;--best:#a3321c;--fail:#b3401f;--bar:#b9b4a5;--on:#fffef9;
--k0:#8a6d3b;--k1:#35618e;--k2:#54799a;--k3:#567551;--k4:#96612f;--k5:#a9a498;--dots:#8b887e}
@media (prefers-color-scheme:dark){:root{--paper:#161614;--ink:#e6e3da;--soft:#a5a297;--faint:#45433d;--grid:#2b2a26;
--best:#ef8367;--fail:#e58a6b;--bar:#6b675b;--on:#161614;--k0:#c2a15f;--k1:#7fa9d4;--k2:#5f87ad;--k3:#8fb388;--k4:#d19a68;--k5:#7d796d;
--dots:#8f8c81}}
*{box-sizing:border-box}
html{background:var(--paper);color:var(--ink);font:16px/1.5 Charter,"Bitstream Charter","Iowan Old Style",Cambria,Georgia,"Liberation Serif",serif}
body{max-width:66rem;margin:0 auto;padding:2.5rem 1rem 4rem}
h1{font-size:1.9rem;font-weight:400;margin:0;line-height:1.2;overflow-wrap:anywhere}
h2{font:600 .78rem/1.4 var(--sans);letter-spacing:.06em;text-transform:uppercase;color:var(--soft);margin:0 0 .2rem}
html,h2{--sans:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Liberation Sans",sans-serif}
section{margin:3rem 0 0} #summary{margin:0}
.about{color:var(--soft);margin:.8rem 0;font-size:.86rem;overflow-wrap:anywhere} .about span{white-space:nowrap}
.lead{font-size:1.25rem;line-height:1.45;margin:.9rem 0 .7rem;max-width:46rem}
.totals{margin:0;max-width:46rem} .totals b{font-weight:600} .totals small{display:block;line-height:1.4;margin-top:.2rem;color:var(--soft)}
.lead b,.finding b{font-weight:600;color:var(--best)}
.finding{margin:0 0 .8rem;max-width:46rem;font-size:1.06rem}
.remark,.note,small,figcaption,details,.filter{font-size:.86rem}
.remark{color:var(--soft);max-width:46rem;margin:.5rem 0 0}
.note{border-left:2px solid var(--best);padding-left:.7rem;max-width:46rem}
.soft{color:var(--soft)}
a{color:inherit;text-decoration-color:var(--soft);text-underline-offset:.15em}
a:hover{color:var(--best)}
nav{font:.82rem/1.9 var(--sans);margin-top:1rem;color:var(--soft)}
nav a{margin-right:1rem;white-space:nowrap}
.picture{overflow-x:auto;background:linear-gradient(90deg,var(--paper) 40%,transparent) 0 0/2.5rem 100% local,
linear-gradient(270deg,var(--paper) 40%,transparent) 100% 0/2.5rem 100% local,
linear-gradient(90deg,var(--faint),transparent) 0 0/.7rem 100%,linear-gradient(270deg,var(--faint),transparent) 100% 0/.7rem 100%;background-repeat:no-repeat}
svg{display:block;font:11px var(--sans);fill:var(--ink)}
svg .soft{fill:var(--soft)} svg .strong{font-weight:600;fill:var(--best)} svg .figure{font-size:13px}
svg .cost{fill:var(--fail);font-size:10px} svg .on{fill:var(--on)} svg .on.k5t{fill:#1d1d1b}
.axis,.roof,.hint,.grid,.best,.dots,.fail,.rise,.kernel{fill:none}
.axis{stroke:var(--soft)} .roof{stroke:var(--soft);stroke-width:.8} .grid{stroke:var(--faint);stroke-width:.7}
.hint{stroke:var(--soft);stroke-width:.8;stroke-dasharray:2 3}
.best{stroke:var(--best);stroke-width:1.4;stroke-linejoin:round}
.dots{stroke:var(--dots);stroke-width:2.2;stroke-linecap:round;stroke-opacity:.5}
.fail{stroke:var(--fail);stroke-width:.8} .rise{stroke:var(--soft);stroke-width:1}
.bar{fill:var(--bar)} .bar.ink{fill:var(--ink);fill-opacity:.72} .bar.light{fill-opacity:.55}
.ribbon{fill-opacity:.13} .faded{opacity:.45}
.dot{fill-opacity:.62;stroke:var(--paper);stroke-width:.8} .taken{fill:var(--best);fill-opacity:1}
.kernel{stroke-width:7} .copy{stroke:var(--fail);stroke-width:4}
.k0{fill:var(--k0)} .k1{fill:var(--k1)} .k2{fill:var(--k2)} .k3{fill:var(--k3)} .k4{fill:var(--k4)} .k5{fill:var(--k5)}
.k0l{stroke:var(--k0)} .k1l{stroke:var(--k1)} .k2l{stroke:var(--k2)} .k3l{stroke:var(--k3)} .k4l{stroke:var(--k4)} .k5l{stroke:var(--k5)}
table{border-collapse:collapse;font:.8rem/1.35 var(--sans);font-variant-numeric:tabular-nums;width:100%}
th{font-weight:400;color:var(--soft);text-align:left;vertical-align:bottom;border-bottom:1px solid var(--soft);padding:0 .55rem .25rem 0;white-space:nowrap}
td{padding:.17rem .55rem .17rem 0;vertical-align:baseline;white-space:nowrap;border-bottom:1px solid var(--grid)}
td.name{white-space:normal;min-width:17rem;overflow-wrap:anywhere} td.words{white-space:normal;min-width:9rem} .n{text-align:right} th:last-child,td:last-child{padding-right:0}
table.narrow{width:auto} .narrow th,.narrow td{padding-right:1.4rem}
td small{font-size:inherit;color:var(--soft)} td b{font-weight:600} td svg{display:inline-block;vertical-align:-1px}
td i,.pieces i{display:inline-block;width:.55em;height:.55em;margin-right:.5em}
.k0b{background:var(--k0)} .k1b{background:var(--k1)} .k2b{background:var(--k2)} .k3b{background:var(--k3)} .k4b{background:var(--k4)} .k5b{background:var(--k5)}
tr:target td{background:var(--grid)} tr[hidden],figure[hidden]{display:none}
th button{all:unset;cursor:pointer;color:inherit} th button:hover{color:var(--best)}
th button:focus-visible,summary:focus-visible,.picture:focus-visible,pre:focus-visible,a:focus-visible{outline:2px solid var(--best);outline-offset:2px}
th[aria-sort=ascending] button::after{content:" ↑"} th[aria-sort=descending] button::after{content:" ↓"}
input,.live button{font:inherit;color:inherit;background:transparent;border:0;border-bottom:1px solid var(--soft);padding:.1rem .2rem;width:14rem;max-width:100%}
.live button{width:auto;cursor:pointer}
.small{display:grid;grid-template-columns:repeat(auto-fill,minmax(226px,1fr));gap:.9rem 1rem}
.pieces{list-style:none;display:grid;grid-template-columns:repeat(auto-fill,minmax(17rem,1fr));gap:.15rem 1rem;padding:0;margin:.5rem 0;font:.8rem/1.4 var(--sans)}
figure{margin:0} figcaption{line-height:1.2} figcaption b{font-weight:400;color:var(--soft)}
details{margin:.5rem 0} summary{cursor:pointer}
pre,code{font:.75rem/1.45 ui-monospace,Menlo,Consolas,"Liberation Mono",monospace;overflow-wrap:anywhere} pre{overflow-x:auto;margin:.4rem 0;overflow-wrap:normal}
@media (max-width:40rem){body{padding-top:1.2rem} h1{font-size:1.5rem} .lead{font-size:1.1rem} td.name{min-width:9rem}}
@media print{:root{--paper:#fff;--ink:#000;--soft:#444;--best:#8a2a17} body{max-width:none;padding:0} nav,.filter,.live{display:none}
.picture{overflow:visible;background:none} td.name{min-width:9rem} #tasks-table th:last-child,#tasks-table td:last-child{display:none} .picture>svg{max-width:100%;height:auto} section,figure,tr{break-inside:avoid} #tasks,#curves,#schedules,#failures{break-inside:auto} table{font-size:.62rem}}
)";

constexpr std::string_view kScript = R"('use strict';
for (const table of document.querySelectorAll('table.sorts')) {
  const body = table.tBodies[0];
  table.querySelectorAll('thead th').forEach((th, column) => {
    if (th.classList.contains('plain')) return;
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...th.childNodes);
    th.append(button);
    button.addEventListener('click', () => {
      const down = th.getAttribute('aria-sort') ? th.getAttribute('aria-sort') === 'ascending'
                                                : th.classList.contains('n');
      for (const other of table.querySelectorAll('th')) other.removeAttribute('aria-sort');
      th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const value = row => {
        const cell = row.cells[column], number = cell.dataset.v;
        return number === undefined ? cell.textContent.trim() : number === '' ? null : Number(number);
      };
      const rows = [...body.rows].map(row => [value(row), row]);
      rows.sort(([a], [b]) => a === null ? (b === null ? 0 : 1) : b === null ? -1
        : (down ? -1 : 1) * (typeof a === 'number' ? a - b : a.localeCompare(b)));
      body.append(...rows.map(([, row]) => row));
    });
  });
}
const filter = document.getElementById('filter');
if (filter) {
  const shown = document.getElementById('shown'), rows = [...document.getElementById('tasks-table').tBodies[0].rows];
  filter.closest('p').hidden = false;
  filter.addEventListener('input', () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    let count = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase(), fits = words.every(word => text.includes(word));
      row.hidden = !fits;
      count += fits;
      const figure = document.querySelector(`figure[data-task="${row.id.slice(5)}"]`);
      if (figure) figure.hidden = !fits;
    }
    shown.textContent = filter.value ? `${count} of ${rows.length}` : '';
  });
}
)";

constexpr std::string_view kLive = R"('use strict';
{
  const stop = document.createElement('button');
  stop.type = 'button';
  stop.textContent = 'stop that';
  document.querySelector('.live').append(' It loads itself again every 10 seconds: ', stop, '.');
  const timer = setInterval(() => location.reload(), 10000);
  stop.addEventListener('click', () => { clearInterval(timer); stop.textContent = 'stopped'; });
}
)";

std::string base64(const std::vector<unsigned char>& bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? bytes[i + k] : 0);
    for (std::size_t k = 0; k < 4; ++k) text += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace

std::string_view report_style() { return kStyle; }
std::string_view report_script() { return kScript; }
std::string_view live_script() { return kLive; }

std::string source_hash(std::string_view script) {
  const std::string digits = sha256(script);
  std::vector<unsigned char> bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<unsigned char>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return "sha256-" + base64(bytes);
}

}  // namespace whet
