import { Session } from 'node:inspector/promises';
import { writeFileSync } from 'node:fs';
import { DYNAMIC_WORKLOADS, compiledStep } from './src/dynamic/workloads.js';
import { manualSeed, Tensor } from '@tessera/tensor';
import { counters } from '@tessera/shared';
const [name, small] = process.argv.slice(2);
const w = DYNAMIC_WORKLOADS.find((x) => x.name === name)!;
manualSeed(0);
const p = w.make('cpu', small === 'small');
const run = compiledStep(w, p);
const s = new Session(); s.connect();
const sizes = w.sizes(small === 'small');
const times: number[] = [];
for (const [i, n] of sizes.entries()) {
  const inputs = p.inputs(n);
  if (i === 5) { await s.post('Profiler.enable'); await s.post('Profiler.setSamplingInterval', { interval: 200 }); await s.post('Profiler.start'); }
  const c0 = counters.get('inductor'); const a = performance.now(); run(n, inputs); const b = performance.now(); run(n, inputs); const c = performance.now();
  const c1 = counters.get('inductor');
  console.error(n, (b - a).toFixed(2), (c - b).toFixed(2), 'graphs', (c1.graphs ?? 0) - (c0.graphs ?? 0), 'shared', (c1.shared ?? 0) - (c0.shared ?? 0));
}
const { profile } = await s.post('Profiler.stop');
writeFileSync('/tmp/late.cpuprofile', JSON.stringify(profile));
