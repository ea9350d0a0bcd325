/**
 * @file Leaves out declarations of fields that constructors set.
 *
 * `class Place { constructor(readonly at: number) {} }` is `class Place { at; constructor(at) { this.at = at; } }` in
 * ECMAScript 2022: the field is made twice, and its name is in every page twice. What the constructor sets in any case
 * needs no declaration. Fields that it may leave alone keep theirs, by which all objects of a class have one form.
 */
import ts from 'typescript';
import { shortNames } from './private-names.mjs';

/** @typedef {{ at: number, until?: number, text: string }} Insertion */

const KEPT = [
  ts.SyntaxKind.StaticKeyword,
  ts.SyntaxKind.DeclareKeyword,
  ts.SyntaxKind.AbstractKeyword,
];

/**
 * What to write in the places of such fields.
 *
 * @param {ts.SourceFile} source
 * @returns {Insertion[]}
 */
export function assignedFields(source) {
  /** @type {Insertion[]} */
  const insertions = [];
  /** @param {ts.Node} node */
  function visit(node) {
    if (ts.isClassLike(node)) insertions.push(...inClass(node));
    ts.forEachChild(node, visit);
  }
  visit(source);
  return insertions;
}

/** @param {ts.ClassLikeDeclaration} node @returns {Insertion[]} */
function inClass(node) {
  const made = node.members.filter(ts.isConstructorDeclaration).find(({ body }) => body);
  if (made?.body === undefined) return [];
  const set = setInAnyCase(made.body);
  const declared = node.members.filter(
    (member) =>
      ts.isPropertyDeclaration(member) &&
      member.initializer === undefined &&
      ts.isIdentifier(member.name) &&
      set.has(member.name.text) &&
      !member.modifiers?.some(({ kind }) => KEPT.includes(kind)),
  );
  return [
    ...declared.map((member) => ({ at: member.getStart(), until: member.getEnd(), text: '' })),
    ...ofParameters(
      made.parameters,
      made.body,
      node.heritageClauses?.some(isExtends) === true,
      (name) => shortNames(node).get(name)?.text ?? name,
    ),
  ];
}

const isExtends = ({ token }) => token === ts.SyntaxKind.ExtendsKeyword;

/** Names that the statements of a constructor set, whichever way it goes. @param {ts.Block} body */
function setInAnyCase(body) {
  const names = new Set();
  for (const statement of body.statements) {
    if (!ts.isExpressionStatement(statement)) {
      if (leaves(statement)) break;
      continue;
    }
    let { expression } = statement;
    while (
      ts.isBinaryExpression(expression) &&
      expression.operatorToken.kind === ts.SyntaxKind.EqualsToken
    ) {
      const { left, right } = expression;
      if (ts.isPropertyAccessExpression(left) && left.expression.kind === ts.SyntaxKind.ThisKeyword)
        names.add(left.name.text);
      expression = right;
    }
  }
  return names;
}

/** Whether a statement may end the constructor without an error. @param {ts.Node} node */
function leaves(node) {
  if (ts.isReturnStatement(node)) return true;
  return !ts.isFunctionLike(node) && ts.forEachChild(node, leaves) === true;
}

/**
 * Fields that are parameters become parameters that are assigned, after the call of the class above.
 *
 * @param {readonly ts.ParameterDeclaration[]} parameters
 * @param {ts.Block} body
 * @param {boolean} isDerived
 * @param {(name: string) => string} nameOf what the field is called
 * @returns {Insertion[]}
 */
function ofParameters(parameters, body, isDerived, nameOf) {
  const fields = parameters.filter(({ modifiers }) => modifiers !== undefined);
  if (fields.length === 0) return [];
  const above = body.statements.find(
    (statement) =>
      ts.isExpressionStatement(statement) &&
      ts.isCallExpression(statement.expression) &&
      statement.expression.expression.kind === ts.SyntaxKind.SuperKeyword,
  );
  const text = fields
    .map(({ name }) => ` this.${nameOf(name.getText())} = ${name.getText()};`)
    .join('');
  if (isDerived && above === undefined) return [];
  return [
    ...fields.map(({ modifiers, name }) => ({
      at: modifiers?.[0]?.getStart() ?? name.getStart(),
      until: name.getStart(),
      text: '',
    })),
    { at: above?.getEnd() ?? body.getStart() + 1, text },
  ];
}
