/**
 * @file Leaves comments out of what is built: declarations have them.
 *
 * Programs read the built files whenever they start, and an engine reads a text with a letter that Latin-1 lacks, as in
 * `[N, …]`, at two bytes a letter. Lines stay where they are.
 */
import ts from 'typescript';

/** What bundlers read in comments, and licences. */
const KEPT = /[#@]__\w+__|@vite-|webpack\w+:|@license|@preserve|^\/[/*]!/;

/**
 * The text without comments.
 *
 * @param {string} text
 * @param {string} path
 */
export function withoutComments(text, path) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  /** @type {Map<number, number>} */
  const comments = new Map();
  /** @param {readonly ts.CommentRange[] | undefined} ranges */
  const note = (ranges) => {
    for (const { pos, end } of ranges ?? [])
      if (!KEPT.test(text.slice(pos, end))) comments.set(pos, end);
  };
  /** @param {ts.Node} node */
  const visit = (node) => {
    const parts = node.getChildren(source);
    // Between tokens: what looks like a comment within a template or a string is none.
    if (parts.length === 0) {
      note(ts.getLeadingCommentRanges(text, node.pos));
      note(ts.getTrailingCommentRanges(text, node.pos));
    }
    for (const part of parts) if (!ts.isJSDoc(part)) visit(part);
  };
  visit(source);
  let result = '';
  let done = 0;
  for (const [pos, end] of [...comments].sort(([a], [b]) => a - b)) {
    result += text.slice(done, pos) + text.slice(pos, end).replace(/[^\n]+/g, ' ');
    done = end;
  }
  return result + text.slice(done);
}
