/**
 * @file The row about a backend that splits the graph and compiles the halves apart.
 */
import { aotModuleSimplified, runEagerly } from '@tessera/aot-autograd';
import { compile } from '@tessera/compile';
import { type GraphModule, splitModule } from '@tessera/graph';
import { type Tensor, library, ones } from '@tessera/tensor';
import { expect } from 'vitest';

/** x + 1 and x + 2; for fewer than five elements x + 1 twice, the same tensor. */
function maybeDupe(x: Tensor): [Tensor, Tensor] {
  const y = x.add(1);
  return x.numel < 5 ? [y, y] : [y, x.add(2)];
}

const lib = library('conformance')
  .define('maybe_dupe_op(Tensor a) -> (Tensor, Tensor)')
  .impl('maybe_dupe_op', 'cpu', maybeDupe)
  .impl('maybe_dupe_op', 'meta', maybeDupe);
const maybeDupeOp = lib.fn<(x: Tensor) => [Tensor, Tensor]>('maybe_dupe_op');

/** Cuts the graph at its products and compiles both parts with AOT autograd. */
function splitting(
  module: GraphModule,
  examples: readonly unknown[],
  parts: string[],
): GraphModule {
  const split = splitModule(module, (node) => (node.name.includes('mul') ? 1 : 0));
  const compilePart = (name: string, inputs: readonly unknown[]): void => {
    const part = split.getAttribute(name) as GraphModule;
    const compiled = aotModuleSimplified(part, inputs as never, { fwCompiler: runEagerly });
    split.setAttribute(name, compiled);
    parts.push(name);
  };
  const first = (split.getAttribute('submod_0') as GraphModule).forward(...examples);
  compilePart('submod_0', examples);
  compilePart('submod_1', [first].flat());
  return split;
}

/** An opaque op returns the same tensor twice for small inputs; the product then writes to both. */
export function duplicatesBetweenHalves(): void {
  const parts: string[] = [];
  const fn = (a: Tensor): Tensor[] => {
    const [b, c] = maybeDupeOp(a);
    return [b.mul_(c)];
  };
  const compiled = compile(fn, {
    backend: (module, examples) => {
      const split = splitting(module, examples, parts);
      return (inputs) => split.forward(...inputs) as Tensor[];
    },
  });
  expect(compiled(ones([4]))[0]!.toArray()).toEqual(fn(ones([4]))[0]!.toArray());
  expect(compiled(ones([4]))[0]!.toArray()).toEqual([4, 4, 4, 4]);
  expect(compiled(ones([6]))[0]!.toArray()).toEqual([6, 6, 6, 6, 6, 6]);
  expect(parts).toEqual(['submod_0', 'submod_1', 'submod_0', 'submod_1']);
}
