/**
 * @file A program that differs as a TypeScript file of its own, which runs it and prints what differs.
 */
import { printComparison } from './print-comparison.js';
import type { Mismatch } from './check.js';
import { INDEX_TEXT } from './indices.js';
import { LIBRARY_TEXT } from './library.js';
import { LANGUAGE_TEXT } from './language.js';
import { MODULE_TEXT, printEdit } from './module-edits.js';
import { printBody, printTensor, printViews } from './print-body.js';
import type { ArgSpec, CallSpec, NetKind, Program, TensorSpec } from './program.js';

const NET_TEXT: Readonly<Record<NetKind, string>> = {
  linear: 'new nn.Linear(3, 3)',
  mlp: 'new nn.Sequential(new nn.Linear(3, 4), new nn.Tanh(), new nn.Linear(4, 3))',
  batchNorm: 'new nn.BatchNorm1d(3)',
  layerNorm: 'new nn.LayerNorm(3)',
  sequential: 'new nn.Sequential(new nn.Linear(3, 3), new nn.Tanh(), new nn.Linear(3, 3))',
  chain: 'new Chain()',
  dropout: 'new nn.Sequential(new nn.Linear(3, 3), new nn.Dropout())',
};

const OPTIMIZER_TEXT = {
  sgd: 'new nn.optim.SGD(params, { lr: 0.1 })',
  momentum: 'new nn.optim.SGD(params, { lr: 0.1, momentum: 0.9 })',
  adam: 'new nn.optim.Adam(params, { lr: 0.1 })',
} as const;

/** Lines that make a tensor and its leaf. */
function make(name: string, leaf: string | null, spec: TensorSpec): string[] {
  const text = printTensor(spec);
  if (!spec.requiresGrad) return [`${name} = ${leaf === null ? '' : `${leaf} = `}${text};`];
  const grad = `${leaf ?? name} = ${text}.detach().requiresGrad_();`;
  if (spec.leaf) return leaf === null ? [grad] : [grad, `${name} = ${leaf};`];
  return leaf === null
    ? [`${name} = ${text}.detach().requiresGrad_().mul(1);`]
    : [grad, `${name} = ${leaf}.mul(1);`];
}

const KEPT_TEXT = { last: 'store.last', list: 'store.list.at(-1)', map: "store.map.get('key')" };

function makeArg(arg: ArgSpec, i: number): string[] {
  if (arg.kind === 'again') return [];
  if (arg.kind === 'new') return make(`a${i}`, `leaf${i}`, arg.tensor);
  if (arg.kind === 'kept') {
    const kept = typeof arg.in === 'number' ? `outputs[${arg.in}]` : KEPT_TEXT[arg.in];
    const value = arg.views.length === 0 ? kept : `${kept}?${printViews(arg.views)}`;
    return [`a${i} = leaf${i} = ${value} ?? ${printTensor(arg.otherwise)};`];
  }
  return [`a${i} = a${arg.of}${printViews(arg.views)};`, `leaf${i} = leaf${arg.of};`];
}

function printCall(program: Program, call: CallSpec): string[] {
  const args = call.args.map((_, i) => `a${i}`);
  const packed =
    program.form === 'positional'
      ? args
      : [program.form === 'list' ? `[${args.join(', ')}]` : `{ ${args.join(', ')} }`];
  const run = `fn(${[...packed, ...(program.storeIsArgument ? ['store'] : [])].join(', ')})`;
  const { noGrad, backward, unseen } = call;
  const meanwhile = program.async ? call.meanwhile : null;
  return [
    ...call.overwrite.map((i) => `T.noGrad(() => a${i}.zero_());`),
    ...call.args.flatMap(makeArg),
    `Object.assign(captured, { k: ${call.k}, ks: [${call.ks.join(', ')}], fail: ${call.fail} });`,
    ...Object.entries(call.replace).flatMap(([name, spec]) => make(`captured.${name}`, null, spec)),
    ...(program.net === null
      ? []
      : [
          `net.train(${call.training});`,
          `for (const first of net.parameters().slice(0, 1)) first.requiresGrad = ${!call.frozen};`,
        ]),
    ...(program.net === null ? [] : call.edits.map(printEdit)),
    ...(program.optimizer === null
      ? []
      : [`for (const group of optimizer.paramGroups) group.lr = ${call.lr};`]),
    'T.manualSeed(11);',
    `await observe(() => ${run}, ${JSON.stringify({ noGrad, backward, meanwhile, unseen })}, [`,
    `  ${[...args, ...args.map((_, i) => `leaf${i}`)].join(', ')},`,
    ']);',
  ];
}

function header({ program, backend, text }: Mismatch): string[] {
  return [
    `// Found by \`pnpm fuzz --seed ${program.seed} --n 1 --backends ${backend}\`:`,
    ...text.split('\n').map((line) => `// ${line}`),
    "import { compile, config, disable, graphBreak, initWebGpu } from '@tessera/compile';",
    "import * as nn from '@tessera/nn';",
    ...(program.library ? LIBRARY_IMPORTS : []),
    "import * as T from '@tessera/tensor';",
    '',
    ...HELPERS,
    ...LANGUAGE_TEXT,
    ...MODULE_TEXT,
    ...INDEX_TEXT,
    ...(program.library ? LIBRARY_TEXT : []),
    '',
    '/** Runs the calls; what can be seen after each. */',
    'async function play(wrap: <F extends (...args: never[]) => unknown>(fn: F) => F): Promise<string[]> {',
  ];
}

const LIBRARY_IMPORTS = [
  "import * as F from '@tessera/nn/functional';",
  ...['fft', 'func', 'linalg', 'special'].map(
    (name) => `import * as ${name} from '@tessera/tensor/${name}';`,
  ),
];

const HELPERS = [
  'const doubled = disable((t: T.Tensor): T.Tensor => t.mul(2));',
  'const curvature = disable((t: T.Tensor): T.Tensor => {',
  '  const leaf = t.detach().requiresGrad_();',
  '  const [slope] = T.grad(leaf.tanh().mul(leaf).sum(), [leaf], { createGraph: true });',
  '  return T.grad(slope!.mul(slope!).sum(), [leaf])[0]!;',
  '});',
  'class Wave extends T.Function {',
  '  static forward(ctx: T.FunctionContext, t: T.Tensor): T.Tensor {',
  '    ctx.saveForBackward(t);',
  '    return t.sin();',
  '  }',
  '  static backward(ctx: T.FunctionContext, slope: T.Tensor): T.Tensor {',
  '    return slope.mul(ctx.savedTensors[0]!.cos()).mul(2);',
  '  }',
  '}',
  'function backward(t: T.Tensor, retainGraph: boolean): void {',
  '  const loss = t.sum();',
  '  if (loss.requiresGrad) loss.backward(null, { retainGraph });',
  '}',
  'function gradient(of: T.Tensor, by: T.Tensor): T.Tensor {',
  '  const sum = of.sum();',
  '  if (!sum.requiresGrad || !by.requiresGrad) return by;',
  '  return T.grad(sum, [by], { retainGraph: true, materializeGrads: true })[0]!.contiguous().clone();',
  '}',
  'void [doubled, curvature, Wave, backward, gradient, graphBreak, initWebGpu];',
];

const OBSERVE = [
  'const seen: string[] = [];',
  'let outputs: T.Tensor[] = [];',
  'const show = async (t: T.Tensor | null | undefined): Promise<string> =>',
  '  t == null',
  "    ? 'none'",
  "    : `${t.device} ${t.dtype} [${t.shape.join()}] strides [${t.strides.join()}] requiresGrad ${t.requiresGrad}: ${Array.from((await t.toTypedArray()) as ArrayLike<number | bigint>, (v) => Number(v).toPrecision(4)).join(' ')}`;",
  'type Result = T.Tensor[] | Promise<T.Tensor[]>;',
  'interface Call { noGrad: boolean; backward: string | null; meanwhile: string | null; unseen: boolean }',
  'const observe = async (run: () => Result, { noGrad, backward, meanwhile, unseen }: Call, args: T.Tensor[]): Promise<void> => {',
  "  let thrown = 'nothing';",
  '  outputs = [];',
  '  let called = false;',
  '  let pending = Promise.resolve();',
  '  again = () => {',
  '    if (called) return;',
  '    called = true;',
  '    const result = run();',
  '    if (!(result instanceof Promise)) store.list.push(...(result ?? []).map((t) => t.detach()));',
  '    else pending = result.then(() => undefined, () => undefined);',
  '  };',
  '  try {',
  '    const runAll = async (): Promise<(T.Tensor[] | void)[]> => {',
  '      const results: Result[] = [run()];',
  "      if (meanwhile === 'read') {",
  "        const read = args[0]!.device === 'cpu' ? args[0]!.sum().item() : await args[0]!.sum().item();",
  '        store.count += read > 0.25 ? 1 : 2;',
  '      }',
  "      if (meanwhile === 'write') T.noGrad(() => args[0]!.add_(1));",
  "      if (meanwhile === 'call') {",
  "        if (args.some((t) => t.device !== 'cpu')) await Promise.allSettled(results);",
  '        results.push(run());',
  '      }',
  '      return Promise.all(results);',
  '    };',
  // A minimised function may return nothing.
  '    outputs = (await (noGrad ? T.noGrad(runAll) : runAll())).flatMap((made) => made ?? []);',
  '    const losses = outputs',
  '      .filter((t, i) => t.requiresGrad && outputs.indexOf(t) === i)',
  "      .map((t, i) => t.sum().mul(i + 1).to(t.device === 'cpu' ? 'float64' : t.dtype));",
  '    const totals = ["cpu", "wgpu"]',
  '      .map((device) => losses.filter((loss) => loss.device === device))',
  '      .filter((list) => list.length > 0)',
  '      .map((list) => list.reduce((a, b) => a.add(b)));',
  '    const by = [...new Set([...args, ...(Object.values(captured) as unknown[])])].filter(',
  '      (t): t is T.Tensor => t instanceof T.Tensor && t.requiresGrad && t.isLeaf,',
  '    );',
  '    if (backward === null || losses.length === 0) {}',
  "    else if (backward === 'sum')",
  '      for (const sum of totals) sum.backward(null, { retainGraph: totals.length > 1 });',
  "    else if (backward === 'first') losses[0]!.backward();",
  "    else if (backward === 'grad')",
  '      for (const t of T.grad(totals, by, { allowUnused: true })) seen.push(`gradient ${await show(t)}`);',
  "    else for (const loss of losses) loss.backward(null, { retainGraph: backward === 'retained' });",
  '  } catch (error) {',
  '    const { code, message } = error as Error & { code?: string };',
  "    thrown = code === 'index-out-of-range' ? code : message.split('\\n')[0]!;",
  '  }',
  '  await pending;',
  '  seen.push(`thrown ${thrown}`);',
  '  for (const t of outputs) seen.push(`output ${await show(t)} grad ${await show(t.grad)}`);',
  '  for (const t of args) seen.push(`argument ${await show(t)} grad ${await show(t.grad)}`);',
  '  for (const [name, t] of Object.entries(captured))',
  '    if (t instanceof T.Tensor) seen.push(`captured.${name} ${await show(t)} grad ${await show(t.grad)}`);',
  '  for (const t of params) seen.push(`parameter ${await show(t)} grad ${await show(t.grad)}`);',
  '  if (!unseen)',
  '  seen.push(`store ${store.count} ${await show(store.last)} ${(await Promise.all(store.list.map(show))).join()} ${(await Promise.all([...store.map.values()].map(show))).join()}`);',
  '};',
];

/** The file's text. */
export function printProgram(mismatch: Mismatch): string {
  const { program, backend } = mismatch;
  const count = program.calls[0]!.args.length;
  const args = Array.from({ length: count }, (_, i) => `a${i}`);
  const names = args.flatMap((name, i) => [`${name}!: T.Tensor`, `leaf${i}!: T.Tensor`]);
  const params =
    program.form === 'positional'
      ? args.map((name) => `${name}: T.Tensor`)
      : program.form === 'list'
        ? [`[${args.join(', ')}]: T.Tensor[]`]
        : [`{ ${args.join(', ')} }: Record<string, T.Tensor>`];
  if (program.storeIsArgument) params.push('store: Store');
  const captured = Object.entries(program.captured);
  const inner = [
    'interface Store { count: number; last: T.Tensor | null; list: T.Tensor[]; map: Map<string, T.Tensor> }',
    'const store: Store = { count: 0, last: null, list: [], map: new Map() };',
    'T.manualSeed(7);',
    ...(program.net === null ? [] : [`const net = ${NET_TEXT[program.net]};`]),
    `const captured = { k: 0, ks: [0], fail: false${captured.map(([name]) => `, ${name}: T.zeros([])`).join('')} };`,
    ...captured.flatMap(([name, spec]) => make(`captured.${name}`, null, spec)),
    `const params: T.Tensor[] = [${[
      ...(program.net === null ? [] : ['...net.parameters()']),
      ...captured
        .filter(([, spec]) => spec.requiresGrad && spec.leaf)
        .map(([name]) => `captured.${name}`),
    ].join(', ')}];`,
    ...(program.optimizer === null
      ? []
      : [`const optimizer = ${OPTIMIZER_TEXT[program.optimizer]};`]),
    ...(names.length > 0 ? [`let ${names.join(', ')};`] : []),
    ...OBSERVE,
    'let again: (() => void) | null = null;',
    'const layer = new Layer();',
    ...(program.library ? ['const modules = makeModules();'] : []),
    'T.manualSeed(9);',
    'const blocks = [new nn.Linear(3, 3), new nn.Linear(3, 3)];',
    'const block = wrap((module: nn.TensorModule, t: T.Tensor): T.Tensor => module.call(t).tanh());',
    'const inner = wrap((t: T.Tensor): T.Tensor => t.sin().mul(captured.k));',
    `const fn = wrap(${program.async ? 'async ' : ''}(${params.join(', ')}): ${program.async ? 'Promise<T.Tensor[]>' : 'T.Tensor[]'} => {`,
    ...printBody(program.body).map((line) => `  ${line}`),
    '});',
    ...program.calls.flatMap((call, i) => [`// call ${i}`, ...printCall(program, call)]),
    'return seen;',
  ];
  return [
    ...header(mismatch),
    ...inner.map((line) => `  ${line}`),
    '}',
    ...printComparison({
      backend,
      dynamic: program.dynamic,
      usesGpu: JSON.stringify(program).includes('"wgpu"'),
      alone: '(fn) => fn',
    }),
  ].join('\n');
}
