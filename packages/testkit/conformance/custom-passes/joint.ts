/**
 * @file A function as custom joint pass: what `cos` computes becomes what `sin` computes.
 */
import { compile, config } from '@tessera/compile';
import type { Graph } from '@tessera/graph';
import { type Tensor, getOp, randn } from '@tessera/tensor';
import { assertClose } from '../../src/index.js';

function cosToSin(graph: Graph): void {
  for (const node of graph.nodes)
    if (node.target === getOp('aten::cos')) node.target = getOp('aten::sin');
}

const thriceSin = (x: Tensor): Tensor => x.sin().sin().sin();
const thriceCos = (x: Tensor): Tensor => x.cos().cos().cos();

function runsWith(hook: 'jointCustomPrePass' | 'jointCustomPostPass'): void {
  config.patch({ [hook]: cosToSin }, () => {
    const x = randn([8]);
    assertClose(compile(thriceCos)(x), thriceSin(x));
  });
}

/** The hook before the built-in joint passes. */
export function jointPassBefore(): void {
  runsWith('jointCustomPrePass');
}

/** The hook behind the built-in joint passes. */
export function jointPassAfter(): void {
  runsWith('jointCustomPostPass');
}
