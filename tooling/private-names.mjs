/**
 * @file Gives private members short names, as every minifier does with `#private` ones.
 *
 * A minifier cannot know that nobody else reads `this.pendingLaunches`, and keeps the name at every place. TypeScript does
 * know. Names begin anew in each class (`$a`, `$b`), which compresses better than names of which each is another.
 * They stay properties: a `#private` one is slower the first times, and a weak map for bundlers whose target is old.
 *
 * Classes that extend another keep their names, so that a class and the one above it never have one name for two members.
 * So does a member that anything but `this` is asked for, which may be an object of another kind.
 */
import ts from 'typescript';

/** @typedef {import('./assigned-fields.mjs').Insertion} Insertion */

const { PrivateKeyword, StaticKeyword, ExtendsKeyword, ThisKeyword } = ts.SyntaxKind;

/** @param {ts.Node} node @param {ts.SyntaxKind} kind */
const hasModifier = (node, kind) =>
  ts.canHaveModifiers(node) && node.modifiers?.some((modifier) => modifier.kind === kind);

/**
 * Short names in the places of the long ones.
 *
 * @param {ts.SourceFile} source
 * @returns {Insertion[]}
 */
export function privateNames(source) {
  /** @type {Insertion[]} */
  const insertions = [];
  /** @param {ts.Node} node */
  function visit(node) {
    if (ts.isClassLike(node))
      for (const { text, places } of shortNames(node).values())
        for (const place of places)
          insertions.push(
            isShorthand(place)
              ? { at: place.getStart(), text: `${text}: ` }
              : { at: place.getStart(), until: place.getEnd(), text },
          );
    ts.forEachChild(node, visit);
  }
  visit(source);
  return insertions;
}

/** Whether a name is both a member's and a variable's: `const { name } = this`. @param {ts.Node} place */
function isShorthand({ parent }) {
  return ts.isBindingElement(parent) && parent.propertyName === undefined;
}

/**
 * The private members of a class that get another name: that name, and where it is written. Parameters that are
 * fields are no such place, as they stay parameters.
 *
 * @param {ts.ClassLikeDeclaration} node
 * @returns {Map<string, { text: string, places: ts.Node[] }>}
 */
export function shortNames(node) {
  const isDerived = node.heritageClauses?.some(({ token }) => token === ExtendsKeyword);
  if (isDerived) return new Map();
  const places = privateMembers(node);
  for (const name of askedOtherwise(node, places)) places.delete(name);
  const byUse = [...places].sort(([, a], [, b]) => b.length - a.length);
  return new Map(byUse.map(([name, of], i) => [name, { text: `$${letters(i)}`, places: of }]));
}

/** Names of private members, with their declarations. @param {ts.ClassLikeDeclaration} node */
function privateMembers(node) {
  /** @type {Map<string, ts.Node[]>} */
  const members = new Map();
  for (const member of node.members) {
    if (ts.isConstructorDeclaration(member)) {
      for (const parameter of member.parameters)
        if (hasModifier(parameter, PrivateKeyword)) members.set(parameter.name.getText(), []);
    } else if (member.name && hasModifier(member, PrivateKeyword)) {
      const name = member.name.getText();
      members.set(name, [...(members.get(name) ?? []), member.name]);
    }
  }
  for (const { name } of node.members.filter((member) => hasModifier(member, StaticKeyword)))
    if (name !== undefined) members.delete(name.getText());
  return members;
}

/**
 * Adds the places where `this` is asked for a member; gives the members that are asked for in another way.
 *
 * @param {ts.ClassLikeDeclaration} node
 * @param {Map<string, ts.Node[]>} places
 */
function askedOtherwise(node, places) {
  /** @type {Set<string>} */
  const others = new Set();
  /** @param {ts.Node} at @param {boolean} isThis whether `this` is an object of the class */
  function visit(at, isThis) {
    if (ts.isPropertyAccessExpression(at)) {
      if (isThis && at.expression.kind === ThisKeyword) places.get(at.name.text)?.push(at.name);
      else others.add(at.name.text);
    } else if (ts.isBindingElement(at)) {
      const name = at.propertyName ?? at.name;
      if (at.dotDotDotToken !== undefined) for (const member of places.keys()) others.add(member);
      else if (isThis && isOfThis(at)) places.get(name.getText())?.push(name);
      else others.add(name.getText());
    } else if (ts.isStringLiteralLike(at)) {
      others.add(at.text);
    }
    const within = isThis && (at === node || !hasThisOfItsOwn(at));
    ts.forEachChild(at, (child) => visit(child, within));
  }
  visit(node, true);
  return others;
}

/** Whether a name is taken from `this`: `const { name } = this`. @param {ts.BindingElement} element */
function isOfThis({ parent: pattern }) {
  const { parent: declaration } = pattern;
  return ts.isVariableDeclaration(declaration) && declaration.initializer?.kind === ThisKeyword;
}

/** @param {ts.Node} node */
function hasThisOfItsOwn(node) {
  if (ts.isClassLike(node) || ts.isFunctionExpression(node) || ts.isFunctionDeclaration(node))
    return true;
  const isMember = ts.isMethodDeclaration(node) || ts.isAccessor(node);
  return isMember && ts.isObjectLiteralExpression(node.parent);
}

/** `a` to `z`, `aa`, … @param {number} i @returns {string} */
function letters(i) {
  return (i < 26 ? '' : letters(Math.floor(i / 26) - 1)) + String.fromCharCode(97 + (i % 26));
}
