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
 *
 * Likewise `trustUpdate(Adam)` keeps `Adam` in every page. The build makes it a field of the class.
 */
import ts from 'typescript';

/**
 * What bundlers take for an effect because something might have a `toString`, wrapped in a call that has none. It also
 * keeps marks away from operators: Rolldown prints `a / /* @__PURE__ *\/ f()` as `a//* …`, which is a comment.
 */
const OPEN = '/* @__PURE__ */ (() => ';
const CLOSE = ')()';

/**
 * An object with the properties of others, which a bundler takes for getters that do something, or an array with the
 * elements of others, which it takes for iterators that do.
 */
const isMerged = (node) =>
  ts.isObjectLiteralExpression(node)
    ? node.properties.some(ts.isSpreadAssignment)
    : ts.isArrayLiteralExpression(node) && node.elements.some(ts.isSpreadElement);

/** @typedef {import('./assigned-fields.mjs').Insertion} Insertion */

/**
 * Marks of the calls that make a module's constants: they are free of effects.
 *
 * @param {ts.SourceFile} source
 * @returns {Insertion[]}
 */
export function pureMarks(source) {
  /** @type {Insertion[]} */
  const insertions = [];

  /** @param {ts.Node} node */
  function visit(node) {
    // What functions and classes do, they do later.
    if (ts.isFunctionLike(node) || ts.isClassLike(node) || ts.isTypeNode(node)) return;
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      insertions.push({ at: node.getStart(), text: '/* @__PURE__ */ ' });
    } else if (ts.isTemplateExpression(node) || ts.isBinaryExpression(node) || isMerged(node)) {
      const [open, close] = ts.isObjectLiteralExpression(node) ? ['(', ')'] : ['', ''];
      insertions.push(
        { at: node.getStart(), text: OPEN + open },
        { at: node.getEnd(), text: close + CLOSE },
      );
      return;
    }
    ts.forEachChild(node, visit);
  }

  for (const statement of source.statements) {
    if (ts.isVariableStatement(statement))
      for (const { initializer } of statement.declarationList.declarations)
        if (initializer !== undefined) visit(initializer);
    insertions.push(...intoClasses(statement, source));
  }
  return insertions;
}

/** Calls that make something known of the class that they are given. */
const OF_CLASSES = new Set(['trustUpdate', 'trackClass']);

/**
 * A call of `OF_CLASSES` as a field of the class that it names, which goes when the class goes.
 *
 * @param {ts.Statement} statement
 * @param {ts.SourceFile} source
 */
function intoClasses(statement, source) {
  if (!ts.isExpressionStatement(statement) || !ts.isCallExpression(statement.expression)) return [];
  const { expression: called, arguments: args } = statement.expression;
  if (!ts.isIdentifier(called) || !OF_CLASSES.has(called.text)) return [];
  const field = `static #${called.text} = /* @__PURE__ */ ${called.text}(this);`;
  const name = args[0].getText();
  const declared = source.statements.find(
    (other) => ts.isClassDeclaration(other) && other.name?.text === name,
  );
  if (declared === undefined) throw new Error(`${source.fileName}: no class ${name} to make known`);
  return [
    { at: statement.getStart(), until: statement.getEnd(), text: '' },
    { at: declared.getEnd() - 1, text: field },
  ];
}
