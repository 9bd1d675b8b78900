// How a page looks: by light and by night, on paper and on a telephone.
#pragma once

namespace parley::reports {

inline constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--ink:#1d2430;--soft:#5b6675;--page:#fff;--card:#f6f7f9;--rule:#d5dae1;
--c0:#1f6fb2;--c1:#c2571a;--c2:#2d8a4e;--c3:#8a4fb0;--c4:#b3261e;--c5:#0f8a8a;--c6:#8a6d1f;--c7:#5b6675}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#a3adba;--page:#14181e;--card:#1d232b;--rule:#38414d;
--c0:#6cb4f0;--c1:#f0955c;--c2:#6fce91;--c3:#c99bea;--c4:#f28b82;--c5:#5fd0d0;--c6:#d9bd6a;--c7:#a3adba}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1360px;padding:16px;font:15px/1.5 system-ui,sans-serif;color:var(--ink);
background:var(--page);overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:.2em 0}h2{font-size:1.15rem;margin:1.6em 0 .5em;border-bottom:1px solid var(--rule)}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,400px),1fr));gap:14px}
figure{margin:0;padding:10px;background:var(--card);border-radius:8px}
figcaption,.note{color:var(--soft);font-size:.87rem}
svg{width:100%;height:auto;display:block;font:11px system-ui,sans-serif}
svg text{fill:var(--ink)}.title{font-size:13px;font-weight:600}.tick,.name{font-size:11px}.name{fill:var(--soft)}
.grid{stroke:var(--rule);stroke-width:.6}.axis{stroke:var(--soft);fill:none}
.chance{stroke:var(--soft);stroke-dasharray:4 4;fill:none}
.line{fill:none;stroke-width:2}.line.s0{stroke:var(--c0)}.line.s1{stroke:var(--c1)}.line.s2{stroke:var(--c2)}
.line.s3{stroke:var(--c3)}
.line.s4{stroke:var(--c4)}.line.s5{stroke:var(--c5)}.line.s6{stroke:var(--c6)}.line.s7{stroke:var(--c7)}
.s0{fill:var(--c0)}.s1{fill:var(--c1)}.s2{fill:var(--c2)}.s3{fill:var(--c3)}.s4{fill:var(--c4)}.s5{fill:var(--c5)}
.s6{fill:var(--c6)}.s7{fill:var(--c7)}
path.line{fill:none!important}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}th{overflow-wrap:normal}
th,td{padding:3px 12px 3px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule)}
td.n{text-align:right;font-variant-numeric:tabular-nums;overflow-wrap:normal}
.claim{padding:10px 12px;border-left:4px solid var(--c2);background:var(--card);margin:.6em 0}
.claim.none{border-color:var(--c4)}
)";

}  // namespace parley::reports
