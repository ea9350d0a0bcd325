/**
 * @file Explanations as trees: text for a terminal, HTML for a notebook.
 */
import { compile, explain } from '@tessera/compile';
import { explainHtml, explainTree } from '@tessera/compile/exploration';
import { Linear, Sequential } from '@tessera/nn';
import { type Tensor, ones } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';

/** The text with times that are not the machine's, and places that are not this file's. */
function stable(text: string): string {
  return text
    .replaceAll(/\d+\.\d ms/g, '0.0 ms')
    .replaceAll(/at \S*?([\w.-]+\.ts):\d+:\d+/g, 'at $1');
}

function step(x: Tensor, scale: number): Tensor {
  const y = x.mul(2).sin().mul(scale);
  if (y.sum().item() < -1e6) return y;
  return y.add(1);
}

describe('explainTree', () => {
  it('has graphs, breaks with their lines, guards by kind', () => {
    const told = explain(compile(step, { backend: 'aot_eager' }))(ones([2, 3]), 3);
    const tree = stable(explainTree(told));
    expect(tree.replace(/time: [^]*/, 'time')).toMatchInlineSnapshot(`
      "step: 1 trace, 2 graphs, 1 graph break, 5 operators, 0 kernels
      ├─ graph 1: 4 operators, compiled in 0.0 ms
      │  └─ 2 mul, sin, sum
      ├─ graph 2: 1 operator, compiled in 0.0 ms
      │  └─ add
      ├─ graph break GB0001: the value of a tensor was read
      │  ├─ at explain-tree.test.ts step
      │  ├─ > if (y.sum().item() < -1e6) return y;
      │  └─ Read values after the compiled function, or express the choice with tensor operators such as \`where\`.
      ├─ guards of the newest trace: 3
      │  ├─ GLOBAL_STATE (1)
      │  │  └─ grad_mode == True, default_dtype == float32
      │  ├─ CONSTANT_MATCH (1)
      │  │  └─ L['scale'] == 3
      │  └─ TENSOR_MATCH (1)
      │     └─ L['x']: float32 cpu [2, 3] strides [3, 1]
      └─ time"
    `);
    expect(tree).toContain('joint graph 0.0 ms');
  });

  it('says why a function was recorded again, and which sizes may vary', () => {
    const f = compile((x: Tensor) => x.mul(2), { backend: 'aot_eager' });
    f(ones([2, 3]));
    f(ones([5, 3]));
    f(ones([7, 3]));
    const tree = explainTree(explain(f)(ones([4, 3])));
    expect(tree).toMatch(/sizes that may vary: 1/);
    expect(tree).toMatch(/s\d+ = L\['x'\]\.size\(\)\[0\]/);
    f(ones([4, 3], { dtype: 'float64' }));
    expect(explainTree(explain(f)(ones([4, 3])))).toMatch(/├─ recorded again: /);
  });

  it('quotes nothing where files cannot be read, and cuts long lines', () => {
    const told = explain(compile(step, { backend: 'aot_eager' }))(ones([2, 3]), 3);
    const tree = explainTree(told, () => null);
    expect(tree).not.toContain('> if');
    const long = explainTree({ ...told, recompileReasons: ['x'.repeat(500)] }, () => null);
    for (const line of long.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
  });

  it('describes modules', () => {
    const model = new Sequential(new Linear(3, 4), new Linear(4, 2));
    const tree = explainTree(explain(model)(ones([2, 3])));
    expect(tree).toMatch(/graph 1: \d+ operators, compiled in/);
    expect(tree).toMatch(/2 linear/);
  });
});

describe('explainHtml', () => {
  it('nests details, with the text of graphs, and escapes', () => {
    const told = explain(compile(step, { backend: 'aot_eager' }))(ones([2, 3]), 3);
    const html = explainHtml({ ...told, functionName: '<script>' });
    expect(html).toMatch(/^<details open><summary>&lt;script&gt;: 1 trace, 2 graphs/);
    expect(html).toContain('<pre>export function forward(');
    expect(html.match(/<details/g)!.length).toBe(html.match(/<\/details>/g)!.length);
    expect(html).not.toContain('<script');
  });
});
