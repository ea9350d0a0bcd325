/**
 * @file `gradcheck`: analytic gradients against central differences, in float64.
 */
import { checkOptionNames } from '@tessera/shared';
import { type Tensor, isFloatingPoint, noGrad, tensor } from '@tessera/tensor';
import { readNumbers, runBackward, writeNumbers } from '@tessera/tensor/internal';

/** Step and tolerances. */
export interface GradcheckOptions {
  readonly eps?: number;
  readonly atol?: number;
  readonly rtol?: number;
}

type Outputs = Tensor | readonly Tensor[];

function listOf(outputs: Outputs): readonly Tensor[] {
  return Array.isArray(outputs) ? outputs : [outputs];
}

/** Column of the Jacobian by central differences: d outputs / d inputs[i][j]. */
function numericColumn(
  fn: (...inputs: Tensor[]) => Outputs,
  inputs: readonly Tensor[],
  i: number,
  j: number,
  eps: number,
): Float64Array[] {
  const input = inputs[i]!;
  const values = readNumbers(input);
  const saved = values[j]!;
  const evaluate = (value: number): Float64Array[] => {
    values[j] = value;
    writeNumbers(input, values);
    return noGrad(() => listOf(fn(...inputs)).map((out) => readNumbers(out)));
  };
  const plus = evaluate(saved + eps);
  const minus = evaluate(saved - eps);
  values[j] = saved;
  writeNumbers(input, values);
  return plus.map((p, o) => p.map((value, k) => (value - minus[o]![k]!) / (2 * eps)));
}

/**
 * Compares gradients of `fn` at float64 inputs that require grad with finite differences.
 *
 * @throws Error naming the output, input and elements that differ
 * @see torch.autograd.gradcheck
 */
export function gradcheck(
  fn: (...inputs: Tensor[]) => Outputs,
  inputs: readonly Tensor[],
  options: GradcheckOptions = {},
): void {
  checkOptionNames('gradcheck', options, { eps: true, atol: true, rtol: true });
  if (!Array.isArray(inputs))
    throw new Error('gradcheck: inputs must be a list: gradcheck(fn, [x])');
  const eps = options.eps ?? 1e-6;
  const atol = options.atol ?? 1e-5;
  const rtol = options.rtol ?? 1e-3;
  const wanted = inputs.filter((input) => input.requiresGrad);
  if (wanted.length === 0) throw new Error('gradcheck: no input requires grad');
  if (wanted.some((input) => input.dtype !== 'float64'))
    throw new Error('gradcheck: inputs that require grad must be float64');
  const outputs = listOf(fn(...inputs)).filter((out) => isFloatingPoint(out.dtype));
  const analytic = outputs.map((out) => analyticRows(out, wanted));
  wanted.forEach((input, w) => {
    const i = inputs.indexOf(input);
    for (let j = 0; j < input.numel; j++) {
      const numeric = numericColumn(fn, inputs, i, j, eps);
      outputs.forEach((out, o) => {
        for (let k = 0; k < out.numel; k++) {
          const a = analytic[o]![k]![w]![j]!;
          const n = numeric[o]![k]!;
          if (!(Math.abs(a - n) <= atol + rtol * Math.abs(n))) {
            throw new Error(
              `gradcheck: d output ${o}[${k}] / d input ${i}[${j}]: analytic ${a}, numeric ${n}`,
            );
          }
        }
      });
    }
  });
}

/** For every element of an output, the gradients of all wanted inputs. */
function analyticRows(out: Tensor, wanted: readonly Tensor[]): Float64Array[][] {
  if (!out.requiresGrad)
    return Array.from({ length: out.numel }, () =>
      wanted.map((input) => new Float64Array(input.numel)),
    );
  return Array.from({ length: out.numel }, (_, k) => {
    const seed = new Float64Array(out.numel);
    seed[k] = 1;
    const cotangent = tensor(seed).view(out.sizes);
    const grads = runBackward([out], [cotangent], {
      retainGraph: true,
      createGraph: false,
      inputs: wanted,
      accumulate: false,
      allowUnused: true,
    });
    return grads.map((grad, w) =>
      grad === null ? new Float64Array(wanted[w]!.numel) : readNumbers(grad),
    );
  });
}

/** `gradcheck` of the gradient itself: second derivatives. */
export function gradgradcheck(
  fn: (...inputs: Tensor[]) => Tensor,
  inputs: readonly Tensor[],
  options: GradcheckOptions = {},
): void {
  const wanted = inputs.filter((input) => input.requiresGrad);
  gradcheck(
    (...at) => {
      const out = fn(...at);
      const sources = at.filter((_, i) => inputs[i]!.requiresGrad);
      const grads = runBackward([out.sum()], [null], {
        retainGraph: true,
        createGraph: true,
        inputs: sources,
        accumulate: false,
        allowUnused: true,
      });
      return grads.map((grad, i) => grad ?? wanted[i]!.mul(0));
    },
    inputs,
    options,
  );
}
