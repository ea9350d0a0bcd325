/**
 * @file Leaves out of scalar programs what only people read: comments, indentation, spaces between words that a reader
 * of tokens tells apart without, digits that no number of its type keeps.
 *
 * The programs of `inductor-core/src/schedule/functions` are text in a notation like WGSL, which pages download. They
 * are parsed and never shown, so the build writes them as short as they may be.
 */
import ts from 'typescript';

/** What only programs have, of all template literals of these files. */
const PROGRAM = /\b(?:fn|let|var|return) /;
const WORD = /\w/;
const BRACKET = /[(){}[\],;:]/;

const FLOAT = /(?<![\w.])\d+(?:\.\d*(?:e[-+]?\d+)?|e[-+]?\d+)/g;

/** What has, or may have, numbers of 64 bits: other programs by their names, and the types that stand in a template. */
const MAY_BE_WIDE = /64|@wide|\$\{/;

/**
 * A number in the fewest letters that are read as the same.
 *
 * @param {string} written
 * @param {(value: number) => number} round to its type
 */
function shortest(written, round) {
  const value = round(Number(written));
  let digits = 1;
  while (round(Number(value.toPrecision(digits))) !== value) digits++;
  const kept = Number(value.toPrecision(digits));
  const plain = String(kept).replace('e+', 'e');
  return [
    written,
    /[.e]/.test(plain) ? plain : `${plain}.0`,
    kept.toExponential().replace('e+', 'e'),
  ].reduce((best, form) => (form.length < best.length ? form : best));
}

/**
 * A program, or a part of one, without what its parser skips.
 *
 * @param {string} text
 * @param {string} whole what the part is of
 */
export function denseProgram(text, whole = text) {
  const round = MAY_BE_WIDE.test(whole) ? Number : Math.fround;
  return text
    .replace(/\/\/[^\n]*/g, '')
    .replace(FLOAT, (written) => shortest(written, round))
    .replace(/\s+/g, (space, at, part) => {
      const before = part[at - 1];
      const after = part[at + space.length];
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

  /**
   * @param {ts.Node} part the text between two substitutions, with its delimiters
   * @param {ts.Node} whole
   */
  function write(part, whole) {
    const [, open, body, close] = /^(.)([^]*?)(`|\$\{)$/.exec(part.getText());
    written +=
      text.slice(done, part.getStart()) + open + denseProgram(body, whole.getText()) + close;
    done = part.getEnd();
  }

  /** @param {ts.Node} node */
  function visit(node) {
    if (ts.isNoSubstitutionTemplateLiteral(node) && PROGRAM.test(node.text)) write(node, node);
    else if (ts.isTemplateExpression(node) && PROGRAM.test(node.getText())) {
      write(node.head, node);
      for (const span of node.templateSpans) {
        visit(span.expression);
        write(span.literal, node);
      }
    } else ts.forEachChild(node, visit);
  }

  visit(source);
  return written + text.slice(done);
}
