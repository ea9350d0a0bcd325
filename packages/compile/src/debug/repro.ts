/**
 * @file The files with which a compilation can be run again on its own: the captured graph as JSON, and a
 * program that compiles it, runs it on random inputs and compares with running it op by op.
 */
import { type GraphModule, graphToJson } from '@tessera/graph';

/** The program of `repro.mjs`. */
const PROGRAM = `// Compiles the captured graph again and compares with running it op by op: node repro.mjs
import { readFileSync } from 'node:fs';
import { initWebGpu, lookupBackend } from '@tessera/compile';
import { GraphModule, graphFromJson } from '@tessera/graph';
import * as T from '@tessera/tensor';

const json = JSON.parse(readFileSync(new URL('./graph.json', import.meta.url), 'utf8'));
const graph = graphFromJson(json);
const module = new GraphModule([], graph);

/** A tensor with the recorded shape, strides and dtype. */
function like(val) {
  const { sizes, strides, dtype, device, requiresGradFlag } = val;
  const extent = sizes.includes(0) ? 0 : 1 + sizes.reduce((sum, n, i) => sum + (n - 1) * strides[i], 0);
  const flat = T.isFloatingPoint(dtype) ? T.randn([extent]).to(dtype) : T.zeros([extent], { dtype });
  const tensor = T.asStrided(flat, sizes, strides).to(device);
  return requiresGradFlag ? tensor.requiresGrad_() : tensor;
}

const vals = graph.placeholders.map((node) => node.meta.val);
if (vals.some((val) => val?.device === 'wgpu')) await initWebGpu();
T.manualSeed(0);
const first = vals.map((val) => (T.isTensor(val) ? like(val) : val));
T.manualSeed(0);
const second = vals.map((val) => (T.isTensor(val) ? like(val) : val));
const expected = module.forward(...first);
const actual = lookupBackend('inductor')(module, second)(second);
for (let i = 0; i < actual.length; i++) {
  const [a, e] = await Promise.all([actual[i], expected[i]].map((t) => t.toTypedArray()));
  const worst = a.reduce((max, value, j) => Math.max(max, Math.abs(Number(value) - Number(e[j]))), 0);
  console.log(\`output \${i}: [\${actual[i].shape}] largest difference \${worst}\`);
}
`;

/** Files by name. A graph that cannot be written as JSON gives its reason instead. */
export function reproFiles(module: GraphModule): Readonly<Record<string, string>> {
  try {
    return {
      'graph.json': JSON.stringify(graphToJson(module.graph), null, 1),
      'repro.mjs': PROGRAM,
    };
  } catch (error) {
    return { 'repro-missing.txt': `The captured graph cannot be written: ${String(error)}\n` };
  }
}
