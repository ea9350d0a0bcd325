/**
 * @file Tells bundlers that definitions of operators may go when nothing uses them.
 *
 * `const op = defineOp(…)` registers an operator, which a bundler must take for an effect that somebody waits for: it
 * keeps every operator of the package in every page. But who uses an operator has its constant, or asks for it by a name
 * that came from elsewhere, through `operatorNamed`, which keeps all of them. So the build writes `@__PURE__` before each
 * call that makes a constant of a module. Statements that are no constants stay what they are: effects.
 *
 * The annotation is per call, so that it works in every bundler and in the one file that a package is built into, where
 * `sideEffects` of package.json knows no modules. Writing it is left to the build because each of a thousand definitions
 * needs it, and those inside of their arguments too.
 */
import { readFile } from 'node:fs/promises';
import ts from 'typescript';

/** What esbuild takes for an effect because something might have a `toString`, wrapped in a call that has none. */
const OPEN = '/* @__PURE__ */ (() => ';
const CLOSE = ')()';

/**
 * The source with calls that make a module's constants marked as free of effects.
 *
 * @param {string} text
 * @param {string} file
 */
export function markPureDefinitions(text, file) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  /** @type {{ at: number, text: string }[]} */
  const insertions = [];

  /** @param {ts.Node} node */
  function visit(node) {
    // What functions and classes do, they do later.
    if (ts.isFunctionLike(node) || ts.isClassLike(node) || ts.isTypeNode(node)) return;
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      insertions.push({ at: node.getStart(), text: '/* @__PURE__ */ ' });
    } else if (ts.isTemplateExpression(node)) {
      insertions.push({ at: node.getStart(), text: OPEN }, { at: node.getEnd(), text: CLOSE });
      return;
    }
    ts.forEachChild(node, visit);
  }

  for (const statement of source.statements) {
    if (!ts.isVariableStatement(statement)) continue;
    for (const { initializer } of statement.declarationList.declarations)
      if (initializer !== undefined) visit(initializer);
  }

  let marked = '';
  let done = 0;
  for (const insertion of insertions.sort((a, b) => a.at - b.at)) {
    marked += text.slice(done, insertion.at) + insertion.text;
    done = insertion.at;
  }
  return marked + text.slice(done);
}

/**
 * For esbuild: marks the sources of `@tessera/tensor`.
 */
export function pureDefinitions() {
  return {
    name: 'pure-definitions',
    setup(build) {
      build.onLoad({ filter: /packages[\\/]tensor[\\/]src[\\/].*\.ts$/ }, async ({ path }) => ({
        contents: markPureDefinitions(await readFile(path, 'utf8'), path),
        loader: 'ts',
      }));
    },
  };
}
