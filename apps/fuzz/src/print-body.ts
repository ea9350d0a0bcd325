/**
 * @file Statements of a program as lines of TypeScript.
 */
import { ENTRY } from './library.js';
import type { CallKind } from './language.js';
import type { Arg, Stmt, TensorSpec } from './program.js';

/** An argument of a call. */
export function printArg(arg: Arg): string {
  if (arg === null || typeof arg !== 'object') return JSON.stringify(arg);
  if (Array.isArray(arg)) return `[${(arg as readonly Arg[]).map(printArg).join(', ')}]`;
  const named = arg as Exclude<Arg, null | number | string | boolean | readonly Arg[]>;
  if ('t' in named) return named.t;
  if ('n' in named) return named.n;
  if ('size' in named) return `${named.size}.shape[${named.dim}]!`;
  const entries = Object.entries(named.options).map(([key, value]) => `${key}: ${printArg(value)}`);
  return `{ ${entries.join(', ')} }`;
}

/** Method calls behind a tensor. */
export function printViews(views: TensorSpec['views']): string {
  return views.map(({ name, args }) => `.${name}(${args.map(printArg).join(', ')})`).join('');
}

/** A tensor's values and views. */
export function printTensor({ dtype, data, views, device }: TensorSpec): string {
  const moved = device === undefined ? '' : `.to('${device}')`;
  return `T.tensor([${data.join(', ')}], { dtype: '${dtype}' })${moved}${printViews(views)}`;
}

function printOp(stmt: Stmt & { do: 'op' }): string {
  const call = `${stmt.on ?? 'T'}.${stmt.name}(${stmt.args.map(printArg).join(', ')})`;
  const picked =
    stmt.pick === undefined
      ? call
      : `${call}${typeof stmt.pick === 'number' ? `[${stmt.pick}]!` : `.${stmt.pick}`}`;
  return `${stmt.rebind === true ? '' : 'let '}${stmt.out} = ${picked};`;
}

/** Whether a condition names a number instead of a tensor. */
export function isNumberName(name: string): boolean {
  return /^captured\.k|^store\.count|^[ni]\d/.test(name);
}

function sumOf(name: string): string {
  return isNumberName(name) ? name : `${name}.sum().item()`;
}

const HOOKS = {
  scale: 'registerHook((slope) => slope.mul(0.5))',
  retain: 'retainGrad()',
  again: 'registerHook(() => again?.())',
};

const EFFECTS = {
  push: (of: string): string => `store.list.push(${of});`,
  set: (of: string): string => `store.last = ${of};`,
  map: (of: string): string => `store.map.set('key', ${of});`,
};

const CALL_TEXT: Readonly<Record<CallKind, (of: string) => string>> = {
  recursion: (of) => `halved(${of}, Math.min(captured.k, 3))`,
  generator: (of) => `[...parts(${of})].reduce((a, b) => a.add(b))`,
  method: (of) => `layer.apply(${of})`,
  nested: (of) => `inner(${of})`,
  blocks: (of) => `blocks.reduce((x, module) => block(module, x), ${of})`,
};

const FOUND = { last: 'store.last', list: 'store.list.at(-1)', map: "store.map.get('key')" };

function block(head: string, body: readonly Stmt[], tail = '}'): string[] {
  return [head, ...printBody(body).map((line) => `  ${line}`), tail];
}

function printStmt(stmt: Stmt): string[] {
  switch (stmt.do) {
    case 'op':
      return [printOp(stmt)];
    case 'item':
      return [`const ${stmt.out} = ${stmt.waits === true ? 'await ' : ''}${stmt.of}.sum().item();`];
    case 'await':
      return ['await undefined;'];
    case 'if':
      return [
        ...block(
          `if (${sumOf(stmt.of)} > ${stmt.above}) {`,
          stmt.then,
          stmt.else.length > 0 ? '} else {' : '}',
        ),
        ...(stmt.else.length > 0 ? block('', stmt.else).slice(1) : []),
      ];
    case 'for': {
      const { index: i, times } = stmt;
      const until = typeof times === 'number' ? times : `Math.min(${times.n}, 5)`;
      const bound = stmt.while === null ? '' : ` && ${sumOf(stmt.while.of)} < ${stmt.while.below}`;
      return block(`for (let ${i} = 0; ${i} < ${until}${bound}; ${i}++) {`, stmt.body);
    }
    case 'noGrad':
    case 'enableGrad': {
      const returns = JSON.stringify(stmt.body).includes('"do":"return"');
      return returns
        ? [
            ...block(
              `const early = T.${stmt.do}((): T.Tensor[] | null => {`,
              stmt.body,
              '  return null;',
            ),
            '});',
            'if (early !== null) return early;',
          ]
        : block(`T.${stmt.do}(() => {`, stmt.body, '});');
    }
    case 'backward':
      return [`backward(${stmt.of}, ${stmt.retain});`];
    case 'grad':
      return [`let ${stmt.out} = gradient(${stmt.of}, ${stmt.by});`];
    case 'hook':
      return [`if (${stmt.of}.requiresGrad) ${stmt.of}.${HOOKS[stmt.kind]};`];
    case 'custom':
      return [
        `let ${stmt.out} = T.isFloatingPoint(${stmt.of}.dtype) ? Wave.apply(${stmt.of}) : ${stmt.of}.sin();`,
      ];
    case 'module':
      return [`let ${stmt.out} = net.call(${stmt.of});`];
    case 'step':
      return ['optimizer.step();'];
    case 'clearGrad':
      return [`${stmt.of}.grad = null;`];
    case 'effect':
      if (stmt.kind === 'count') return ['store.count++;'];
      if (stmt.kind === 'pop') return ['store.list.pop();'];
      return [EFFECTS[stmt.kind as keyof typeof EFFECTS]((stmt as { of: string }).of)];
    case 'read':
      return [`let ${stmt.out} = ${FOUND[stmt.from]} ?? ${stmt.otherwise};`];
    case 'capture':
      return [`captured.${stmt.name} = ${stmt.of};`];
    case 'break':
      return ['graphBreak();'];
    case 'caught':
      return block(
        'try {',
        stmt.body,
        "} catch (error) { if ((error as Error).message !== 'stop') throw error; }",
      );
    case 'call':
      return [`let ${stmt.out} = ${CALL_TEXT[stmt.kind](stmt.of)};`];
    case 'indexed':
      return [`let ${stmt.out} = indexed('${stmt.kind}', ${stmt.of}, captured.i0, captured.sink);`];
    case 'library':
      return [
        `let ${stmt.out} = library(${ENTRY} => ${stmt.text}, ${stmt.of}, ${stmt.by}, captured.k, modules);`,
      ];
    case 'toggle':
      return ['net.train(!net.training);'];
    case 'disabled':
      return [`let ${stmt.out} = ${stmt.kind}(${stmt.of});`];
    case 'throw':
      return ["if (captured.fail) throw new Error('stop');"];
    case 'return':
      return [`return [${stmt.of.join(', ')}];`];
  }
}

/** Lines of statements. */
export function printBody(body: readonly Stmt[]): string[] {
  return body.flatMap(printStmt);
}
