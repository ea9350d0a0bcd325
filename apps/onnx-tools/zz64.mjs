import { importOnnx } from '@tessera/onnx';
import { tensor, loadCheckpoint, isFloatingPoint, isTensor } from '@tessera/tensor';
const [file, ...names] = process.argv.slice(2);
const n = file.split('/').at(-1).replace('.onnx', '');
const all = await loadCheckpoint(file.replace('.onnx', '.safetensors'));
const inputs = {}, outs = {};
for (const [k, v] of Object.entries(all)) if (k.startsWith(n + '/in/')) inputs[k.slice(n.length + 4)] = v;
const grads = {};
for (const dtype of ['float32', 'float64']) {
  const m = (await importOnnx(file)).to(dtype);
  const o = m.call(Object.fromEntries(Object.entries(inputs).map(([k, v]) => [k, isFloatingPoint(v.dtype) ? v.to(dtype) : v])));
  let loss = null, salt = 0;
  for (const v of Object.values(o)) { const s = salt++; if (!isFloatingPoint(v.dtype)) continue;
    const w = tensor(Array.from({ length: v.numel }, (_, i) => Math.sin(1 + s + i * 12.9898)), { dtype: v.dtype }).reshape([...v.sizes]);
    const p = v.mul(w).sum(); loss = loss ? loss.add(p) : p; }
  loss.backward();
  grads[dtype] = new Map(m.namedParameters().map(([k, p]) => [k, p.grad]));
}
let worst = [];
for (const [k, g] of grads.float32) { const h = grads.float64.get(k); if (!g) continue; worst.push([k, g.to('float64').sub(h).abs().max().item() / (h.abs().max().item() + 1e-300), h.abs().max().item()]); }
worst.sort((a, b) => b[1] - a[1]);
console.log(n, worst.slice(0, 4).map(([k, e, m]) => `${k} ${e.toExponential(1)} of ${m.toExponential(1)}`).join('; '));
for (const k of names) console.log(k, worst.find((w) => w[0] === k));
