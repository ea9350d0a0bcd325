/**
 * Views made without gradients of what takes them: `requiresGrad` is that of their base, and gradients lead nowhere.
 */
import { type Tensor, noGrad, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

type Program = (x: Tensor, view: Tensor) => unknown;
const looked = (value: Tensor): unknown[] => [value.requiresGrad, value.isLeaf, value.toArray()];

/** What a program returns, and the gradients that its results and itself give a leaf and a view of it. */
function outcome(fn: Program, viewOf: (x: Tensor) => Tensor): unknown {
  const x = tensor([1, 2, 3]).requiresGrad_();
  const view = viewOf(x);
  const results = [fn(x, view)].flat().filter((t) => t !== undefined) as Tensor[];
  const seen = results.map(looked);
  for (const result of results) if (!result.isLeaf) result.sum().backward();
  return [seen, x.toArray(), x.grad?.toArray() ?? null, view.grad?.toArray() ?? null];
}

const withoutHistory = (x: Tensor): Tensor => noGrad(() => x.slice(0, 1));
const programs: [string, Program, (x: Tensor) => Tensor, unknown][] = [
  ['that is an input', (_, view) => [view.mul(2), view.slice(0, 1)], withoutHistory, null],
  [
    'that is made inside',
    (x) => noGrad(() => [x.slice(0, 1), x.unbind(0)[0]!]),
    withoutHistory,
    null,
  ],
  ['viewed with gradients', (x) => noGrad(() => x.slice(0, 1)).slice(0, 1), withoutHistory, null],
  [
    'read before its base is written to',
    (x, view) => {
      const y = view.mul(2);
      noGrad(() => x.add_(1));
      return y;
    },
    withoutHistory,
    null,
  ],
  [
    'that a backward() inside leads to',
    (x, view) => {
      view.mul(3).sum().add(x.mul(5).sum()).backward();
    },
    withoutHistory,
    [5, 5, 5],
  ],
  [
    'that a backward() inside leads to alone',
    (_, view) => {
      view.mul(3).sum().backward();
    },
    withoutHistory,
    null,
  ],
  [
    'with a history, written to without gradients',
    (x, view) => {
      noGrad(() => view.mul_(2));
      view.mul(3).sum().backward();
      return noGrad(() => x.slice(0, 1));
    },
    (x) => x.slice(0, 1),
    [0, 3, 3],
  ],
];

describe.each(['eager', 'aot_eager', 'inductor'])(
  'a view without history, compiled by %s',
  (backend) => {
    it.each(programs)('%s', (_, fn, viewOf, gradient) => {
      const eager = outcome(fn, viewOf) as unknown[];
      expect(eager[2]).toEqual(gradient);
      const compiled = compile((x: Tensor, view: Tensor) => fn(x, view), { backend });
      for (let i = 0; i < 3; i++)
        expect(outcome((x, view) => compiled(x, view), viewOf)).toEqual(eager);
    });

    it('made before its base took gradients', () => {
      const fn: Program = (x, view) => {
        noGrad(() => x.add_(1));
        return view.mul(3);
      };
      const inside: Program = (x, view) => {
        noGrad(() => x.add_(1));
        view.mul(3).sum().backward();
      };
      const alone: Program = (_, view) => {
        noGrad(() => view.add_(1));
        view.mul(3).sum().backward();
      };
      for (const program of [fn, inside, alone]) {
        const compiled = compile((x: Tensor, view: Tensor) => program(x, view), { backend });
        for (const run of [program, compiled, compiled, compiled] as Program[]) {
          const x = ones([2]);
          const view = x.slice(0, 1);
          x.requiresGrad_();
          const result = run(x, view) as Tensor | undefined;
          result?.sum().backward();
          expect(x.grad!.toArray()).toEqual([0, 3]);
        }
      }
    });

    it('is told from one whose base takes no gradients yet', () => {
      const compiled = compile((view: Tensor) => view.mul(2), { backend });
      const x = ones([2]);
      const view = x.slice(0, 1);
      for (let i = 0; i < 3; i++) expect(compiled(view).requiresGrad).toBe(false);
      x.requiresGrad_();
      for (let i = 0; i < 3; i++) expect(compiled(view).requiresGrad).toBe(true);
    });
  },
);
