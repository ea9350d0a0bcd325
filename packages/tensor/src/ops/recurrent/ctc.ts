/**
 * @file The forward variables of connectionist temporal classification as one op: a device runs all steps in a kernel.
 *
 * A state is reached from itself and up to two before it, `reach` says how far back. In between, step after step, is
 * what these ops do; what goes into a step and its gradient is computed for all steps at once.
 *
 * @see Graves et al., Connectionist Temporal Classification, ICML 2006
 */
import { TesseraError } from '@tessera/shared';
import { composedGradients } from '../../autograd/composed-gradient.js';
import { isGradEnabled } from '../../autograd/grad-mode.js';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { contiguousStrides, formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { cat, stack } from '../arrange/join.js';
import { softmax } from '../activation/softmax.js';
import { full } from '../factory/factory.js';
import { arange } from '../factory/range.js';
import { logsumexp } from '../reduction/norm.js';
import { expand } from '../view/view.js';
import { narrow } from '../view/slice.js';
import { unsqueeze } from '../view/dims.js';
import { unbind } from '../view/split.js';
import { where } from '../pointwise/where.js';

/** Logarithm of an impossible event; finite, so that gradients stay numbers. */
export const NEVER = -1e30;
/** States before a state from which it may be reached, beside itself. */
const FURTHEST = 2;

const alphasOp: OpOverload<Tensor> = defineOp(
  'tessera::ctc_alphas(Tensor log_probs, Tensor reach) -> Tensor',
  {
    tags: ['compute-intensive'],
    meta: ({ log_probs: { sizes, dtype, device }, reach }) => {
      if (sizes.length !== 3 || reach.sizes[0] !== sizes[1] || reach.sizes[1] !== sizes[2])
        throw new TesseraError(
          'shape-mismatch',
          `ctc_alphas: log-probabilities ${formatSizes(sizes)} and reach ${formatSizes(reach.sizes)} do not fit`,
          { hints: ['ctcLoss of @tessera/nn calls it with what fits.'] },
        );
      return { sizes, strides: contiguousStrides(sizes), dtype, device };
    },
    kernel: ({ log_probs, reach }, [out]) => {
      const [, rows, states] = log_probs.sizes;
      const [given, back] = [readNumbers(log_probs), readNumbers(reach)];
      const alphas = new Float64Array(given.length);
      const step = rows * states;
      const before = (at: number, s: number, j: number): number =>
        at >= step ? alphas[at - step - j]! : s === j ? 0 : NEVER;
      for (let at = 0; at < given.length; at++) {
        const s = at % states;
        const furthest = back[at % step]!;
        const [a, b, c] = [
          before(at, s, 0),
          furthest > 0 ? before(at, s, 1) : NEVER,
          furthest > 1 ? before(at, s, 2) : NEVER,
        ];
        const most = Math.max(a, b, c);
        const sum = Math.exp(a - most) + Math.exp(b - most) + Math.exp(c - most);
        alphas[at] = most + Math.log(sum) + given[at]!;
      }
      writeNumbers(out, alphas);
    },
    saved: ['log_probs', 'reach', 'out'],
    vjp: ({ log_probs, reach }, { grads: [grad], outs }) => {
      if (isGradEnabled())
        return composedGradients({ log_probs, reach }, [grad], (given) => [
          composedAlphas(given.log_probs!, reach),
        ]);
      const alphas = outs[0];
      const first = unsqueeze(start(log_probs), 0);
      const earlier = narrow(alphas, 0, 0, alphas.sizes[0]! - 1);
      const shares = softmax(stack(sources(cat([first, earlier]), reach)), 0);
      return { log_probs: callOp(backwardOp, [grad!, shares]), reach: null };
    },
  },
);

/** Gradients of all steps' log-probabilities: each step's own, and what a state gave those that it led to. */
const backwardOp: OpOverload<Tensor> = defineOp(
  'tessera::ctc_alphas_backward(Tensor grad_output, Tensor shares) -> Tensor',
  {
    tags: ['compute-intensive'],
    meta: ({ grad_output: { sizes, dtype, device } }) => ({
      sizes,
      strides: contiguousStrides(sizes),
      dtype,
      device,
    }),
    kernel: ({ grad_output, shares }, [out]) => {
      const [steps, rows, states] = grad_output.sizes;
      const [given, parts] = [readNumbers(grad_output), readNumbers(shares)];
      const grads = Float64Array.from(given);
      const step = rows * states;
      for (let t = steps - 1; t > 0; t--)
        for (let at = t * step; at < (t + 1) * step; at++)
          for (let j = 0; j <= Math.min(FURTHEST, at % states); j++)
            grads[at - step - j]! += grads[at]! * parts[j * given.length + at]!;
      writeNumbers(out, grads);
    },
  },
);

/** Before the first step, [N, S]: in the first state. */
function start({ sizes, dtype, device }: Tensor): Tensor {
  const [, rows, states] = sizes;
  const like = { dtype, device };
  const one = where(arange(states, { device }).eq(0), full([], 0, like), full([], NEVER, like));
  return expand(one, [rows, states]);
}

/** Of each state [.., N, S], the likelihoods of those that it may be reached from. */
function sources(alphas: Tensor, reach: Tensor): Tensor[] {
  const never = full([], NEVER, { dtype: alphas.dtype, device: alphas.device });
  const last = alphas.ndim - 1;
  return Array.from({ length: FURTHEST + 1 }, (_, back) => {
    if (back === 0) return alphas;
    const others = narrow(alphas, last, 0, alphas.sizes[last]! - back);
    const edge = expand(never, [...alphas.sizes.slice(0, last), back]);
    return where(reach.ge(back), cat([edge, others], last), never);
  });
}

/** The same in plain operators. */
function composedAlphas(logProbs: Tensor, reach: Tensor): Tensor {
  let alpha = start(logProbs);
  const alphas = unbind(logProbs, 0).map((each) => {
    alpha = logsumexp(stack(sources(alpha, reach)), 0).add(each);
    return alpha;
  });
  return stack(alphas);
}

/**
 * Log-likelihoods of being in a state after each step, [T, N, S], of the log-probabilities of states at steps.
 *
 * @param reach from how far before a state may be reached: 0, 1 or 2, [N, S]
 * @throws shape-mismatch
 */
export function ctcAlphas(logProbs: Tensor, reach: Tensor): Tensor {
  const { dtype } = logProbs;
  if (dtype !== 'float32' && dtype !== 'float64') return composedAlphas(logProbs, reach);
  return callOp(alphasOp, [logProbs, reach]);
}
