/**
 * @file Leaves out of scalar programs what only people read: comments, indentation, spaces between words that a reader
 * of tokens tells apart without.
 *
 * The programs of `inductor-core/src/schedule/functions` are text in a notation like WGSL, which pages download. They
 * are parsed and never shown, so the build writes them as short as they may be.
 */
import ts from 'typescript';

/** What only programs have, of all template literals of these files. */
const PROGRAM = /\b(?:fn|let|var|return) /;
const WORD = /\w/;
const BRACKET = /[(){}[\],;:]/;

/**
 * A program, or a part of one, without what its parser skips.
 *
 * @param {string} text
 */
export function denseProgram(text) {
  return text.replace(/\/\/[^\n]*/g, '').replace(/\s+/g, (space, at, whole) => {
    const before = whole[at - 1];
    const after = whole[at + space.length];
    // At an end, what stands beyond it is not known.
    if (before === undefined || after === undefined) return ' ';
    if (BRACKET.test(before) || BRACKET.test(after)) return '';
    return WORD.test(before) === WORD.test(after) ? ' ' : '';
  });
}

/**
 * The source with the programs in its template literals dense.
 *
 * @param {string} text
 * @param {string} file
 */
export function writeDensePrograms(text, file) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  let written = '';
  let done = 0;

  /** @param {ts.Node} part the text between two substitutions, with its delimiters */
  function write(part) {
    const [, open, body, close] = /^(.)([^]*?)(`|\$\{)$/.exec(part.getText());
    written += text.slice(done, part.getStart()) + open + denseProgram(body) + close;
    done = part.getEnd();
  }

  /** @param {ts.Node} node */
  function visit(node) {
    if (ts.isNoSubstitutionTemplateLiteral(node) && PROGRAM.test(node.text)) write(node);
    else if (ts.isTemplateExpression(node) && PROGRAM.test(node.getText())) {
      write(node.head);
      for (const span of node.templateSpans) {
        visit(span.expression);
        write(span.literal);
      }
    } else ts.forEachChild(node, visit);
  }

  visit(source);
  return written + text.slice(done);
}
