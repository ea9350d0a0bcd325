/**
 * @file Leaves comments out of what is built: declarations have them.
 *
 * Programs read the built files whenever they start, and an engine reads a text with a letter that Latin-1 lacks, as in
 * `[N, …]`, at two bytes a letter. Lines stay where they are.
 */
import ts from 'typescript';
import { inserted } from './inserted.mjs';

/** What bundlers read in comments, and licences. */
const KEPT = /[#@]__\w+__|@vite-|webpack\w+:|@license|@preserve|^\/[/*]!/;

const COMMENT = /\/\/.*|\/\*[^]*?\*\//g;

/**
 * The text without comments.
 *
 * @param {string} text
 * @param {string} path
 */
export function withoutComments(text, path) {
  return inserted(text, blanks(ts.createSourceFile(path, text, ts.ScriptTarget.Latest)));
}

/**
 * Spaces in the places of comments.
 *
 * @param {ts.SourceFile} source
 * @returns {import('./assigned-fields.mjs').Insertion[]}
 */
export function blanks(source) {
  const literals = literalsOf(source);
  const found = [];
  let next = 0;
  COMMENT.lastIndex = 0;
  for (let match; (match = COMMENT.exec(source.text)) !== null;) {
    const { 0: comment, index: at } = match;
    while (next < literals.length && literals[next].end <= at) next++;
    if (next < literals.length && literals[next].getStart(source) < at) {
      COMMENT.lastIndex = literals[next].end;
    } else if (!KEPT.test(comment)) {
      const until = at + comment.length;
      found.push({ at, until, text: comment.replace(/[^\n]+/g, ' ') });
    }
  }
  return found;
}

/** What looks like a comment in one of these is none. @param {ts.SourceFile} source */
function literalsOf(source) {
  /** @type {ts.Node[]} */
  const literals = [];
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (
      ts.isStringLiteral(node) ||
      ts.isRegularExpressionLiteral(node) ||
      ts.isTemplateLiteralToken(node)
    )
      literals.push(node);
    else ts.forEachChild(node, visit);
  };
  visit(source);
  return literals;
}
