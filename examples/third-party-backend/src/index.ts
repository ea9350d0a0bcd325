/**
 * @file A kernel backend of a third party: fused pointwise float32 kernels become JavaScript loops.
 *
 * It generates code for what it is good at and leaves other kernels to the reference interpreter.
 */
import { registerKernelBackend } from '@tessera/compile';
import * as core from '@tessera/inductor-core';

const INFIX: Record<string, string> = { add: ' + ', sub: ' - ', mul: ' * ', div: ' / ' };
const MATH = ['exp', 'log', 'sin', 'cos', 'tanh', 'sqrt', 'abs', 'floor', 'ceil'];
const DIVISION: core.IndexDivision = {
  div: (num, den) => `Math.floor(${num} / ${den})`,
  mod: (num, den) => `${num} % ${den}`,
};

/** JavaScript of a value, given the names of its operands; null for what it leaves to the interpreter. */
function value(e: core.Expr, nameOf: (operand: core.Expr) => string): string | null {
  if (e.dtype !== 'float32') return null;
  if (e.kind === 'load') return `${e.buf}[${core.printIndex(e.index, nameOf, DIVISION)}]`;
  if (e.kind === 'scalar') return `Math.fround(${e.name})`;
  if (e.kind === 'const') return Object.is(e.value, -0) ? '-0' : String(e.value);
  if (e.kind !== 'op') return null;
  const args = e.args.map(nameOf);
  if (e.op in INFIX) return `Math.fround(${args.join(INFIX[e.op])})`;
  return MATH.includes(e.op) ? `Math.fround(Math.${e.op}(${args}))` : null;
}

/** JavaScript of a kernel, as the body of a function of its buffers and scalars; null as above. */
function generate(kernel: core.FusedKernel): string | null {
  const body = core.pointwiseBody(kernel);
  if (body === null) return null;
  const nameOf = (e: core.Expr): string => `v${body.values.indexOf(e)}`;
  const values = body.values.map((e) => value(e, nameOf));
  if (values.includes(null)) return null;
  return [
    ...body.loops.map(({ name, size }) => `for (let ${name} = 0; ${name} < ${size}; ${name}++)`),
    '{',
    ...values.map((text, i) => `const v${i} = ${text};`),
    ...body.stores.map(({ buf, index, value: stored }) => {
      return `${buf}[${core.printIndex(index, nameOf, DIVISION)}] = ${nameOf(stored)};`;
    }),
    '}',
  ].join('\n');
}

/** The backend. */
export const javascriptBackend: core.KernelBackend = core.hostBackend({
  name: 'javascript',
  language: 'javascript',
  generate,
  instantiate: (text, parameters) => new Function(...parameters, text) as core.HostKernel,
});

/** Makes it the backend of `cpu`, for compiled functions and eager operators. */
export const register = (): void => registerKernelBackend(javascriptBackend);
