/**
 * @file A kernel backend of a third party: fused pointwise float32 kernels become JavaScript loops.
 *
 * It generates code for what it is good at and leaves other kernels to the reference interpreter.
 */
import { registerKernelBackend } from '@tessera/compile';
import * as core from '@tessera/inductor-core';

const INFIX: Record<string, string> = { add: ' + ', sub: ' - ', mul: ' * ', div: ' / ' };
const MATH = ['exp', 'log', 'sin', 'cos', 'tanh', 'sqrt', 'abs', 'floor', 'ceil'];

/** JavaScript of where to load or store. @throws for what it leaves to the interpreter */
function index(e: core.IndexExpr): string {
  if (e.kind === 'int') return String(e.value);
  if (e.kind === 'sym') return e.name;
  if (e.kind === 'add') return `(${e.terms.map(index).join(' + ')})`;
  if (e.kind === 'mul') return `(${e.factors.map(index).join(' * ')})`;
  if (e.kind === 'div') return `Math.floor(${index(e.num)} / ${index(e.den)})`;
  if (e.kind === 'mod') return `(${index(e.num)} % ${index(e.den)})`;
  throw new Error('a gather');
}

/** JavaScript of a value, given the names of its operands. @throws for what it leaves to the interpreter */
function value(e: core.Expr, nameOf: (operand: core.Expr) => string): string {
  if (e.kind === 'load') return `${e.buf}[${index(e.index)}]`;
  if (e.kind === 'scalar') return `Math.fround(${e.name})`;
  if (e.kind === 'const') return Object.is(e.value, -0) ? '-0' : String(e.value);
  if (e.kind !== 'op' || e.dtype !== 'float32') throw new Error(`no JavaScript for ${e.kind}`);
  const args = e.args.map(nameOf);
  if (e.op in INFIX) return `Math.fround(${args.join(INFIX[e.op])})`;
  if (MATH.includes(e.op)) return `Math.fround(Math.${e.op}(${args}))`;
  throw new Error(`no JavaScript for ${e.op}`);
}

/** JavaScript of a kernel, as the body of a function of its buffers and scalars. */
function source(kernel: core.FusedKernel): string {
  const params = [...kernel.params, ...kernel.scalars];
  if (kernel.kind !== 'loop' || kernel.inner.length > 0) throw new Error('no pointwise kernel');
  if (params.some((param) => param.dtype !== 'float32')) throw new Error('not float32');
  const body = kernel.stages.flatMap((stage) => stage.body) as Extract<
    core.Stmt,
    { kind: 'store' }
  >[];
  const values = core.postorder(body.flatMap(core.stmtRoots));
  const nameOf = (e: core.Expr): string => `v${values.indexOf(e)}`;
  return [
    ...kernel.outer.map(({ name, size }) => `for (let ${name} = 0; ${name} < ${size}; ${name}++)`),
    `{\n${values.map((e) => `const ${nameOf(e)} = ${value(e, nameOf)};`).join('\n')}`,
    ...body.map((store) => `${store.buf}[${index(store.index)}] = ${nameOf(store.value)};`),
    '}',
  ].join('\n');
}

/** The backend. */
export const javascriptBackend: core.KernelBackend = {
  name: 'javascript',
  device: 'cpu',
  capabilities: {
    dtypes: new Set(['float32', 'float64', 'int64', 'int32', 'int16', 'int8', 'uint8', 'bool']),
    int64: 'native',
    maxBuffersPerKernel: 256,
    extern: false,
    parallelism: 1,
    splitReductionThreshold: Infinity,
  },
  generate(kernel) {
    try {
      return { kernel: kernel.name, language: 'javascript', text: source(kernel) };
    } catch {
      return { kernel: kernel.name, language: 'loop-ir', text: core.printKernel(kernel) };
    }
  },
  load(plan) {
    const sources = plan.kernels.map((kernel) => javascriptBackend.generate(kernel));
    const kernels = plan.kernels.map((kernel, i) => {
      const names = [...kernel.params, ...kernel.scalars].map((param) => param.name);
      if (sources[i]!.language === 'javascript') return new Function(...names, sources[i]!.text);
      return (...args: never[]) => {
        const named = new Map(names.map((name, at) => [name, args[at]!]));
        core.interpretKernel(kernel, named, named);
      };
    });
    const run: core.Executable['run'] = (inputs, outputs, scalars) => {
      const memory = core.bindPlan(plan, inputs.map(core.hostData), outputs.map(core.hostData));
      for (const launch of plan.launches)
        kernels[launch.kernel]!(
          ...([
            ...launch.buffers.map((i) => memory[i]),
            ...launch.scalars.map((i) => scalars[i]),
          ] as never[]),
        );
    };
    return { plan, sources, run, dispose() {} };
  },
};

/** Makes it the backend of `cpu`, for compiled functions and eager operators. */
export function register(): void {
  registerKernelBackend(javascriptBackend);
}
