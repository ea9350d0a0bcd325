/**
 * @file Markdown → HTML: headings with anchors, code coloured at build time for light and dark, links between documents
 * turned into links between pages.
 */
import { Marked, type Tokens } from 'marked';
import { type HighlighterGeneric, createHighlighter } from 'shiki';
import { escapeHtml } from './page.js';

const THEMES = { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' } as const;
const LANGUAGES = ['ts', 'js', 'sh', 'wgsl', 'json', 'html'] as const;

type Highlighter = HighlighterGeneric<(typeof LANGUAGES)[number], 'github-light-high-contrast'>;

/** Turns the target of a link in a document into what the page links to. */
export type LinkRule = (target: string) => string;

/** A heading of a document. */
export interface Heading {
  readonly depth: number;
  readonly text: string;
  readonly id: string;
}

/** A rendered document. */
export interface Rendered {
  readonly html: string;
  readonly headings: readonly Heading[];
}

/** The anchor of a heading. */
export function anchorOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/<[^>]+>|[`']/g, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

/** Renders documents and code. */
export class Markdown {
  private constructor(private readonly highlighter: Highlighter) {}

  /** Loads the grammars. */
  static async create(): Promise<Markdown> {
    const highlighter = await createHighlighter({
      themes: Object.values(THEMES),
      langs: [...LANGUAGES],
    });
    return new Markdown(highlighter as unknown as Highlighter);
  }

  /** Code as HTML with colours; of a language that has no grammar here, without. */
  code(text: string, language: string): string {
    const known = LANGUAGES.find((name) => name === language);
    if (known === undefined) return `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>`;
    return this.highlighter.codeToHtml(text, {
      lang: known,
      themes: THEMES as never,
      defaultColor: 'light-dark()',
    });
  }

  /** A document as HTML. Its first heading of depth 1, if any, is part of it. */
  render(text: string, link: LinkRule = (target) => target): Rendered {
    const headings: Heading[] = [];
    const seen = new Map<string, number>();
    const code = (source: string, language: string): string => this.code(source, language);
    const marked = new Marked({
      renderer: {
        code({ text: source, lang }: Tokens.Code) {
          // Words behind the language (`ts no-run`) are for tests.
          return code(source, (lang ?? '').split(' ')[0]!);
        },
        heading({ tokens, depth }: Tokens.Heading) {
          const inner = this.parser.parseInline(tokens);
          const base = anchorOf(inner) || 'section';
          const count = seen.get(base) ?? 0;
          seen.set(base, count + 1);
          const id = count === 0 ? base : `${base}-${count}`;
          headings.push({ depth, text: inner.replaceAll(/<[^>]+>/g, ''), id });
          return `<h${depth} id="${id}">${inner}</h${depth}>\n`;
        },
        link({ href, tokens }: Tokens.Link) {
          return `<a href="${escapeHtml(link(href))}">${this.parser.parseInline(tokens)}</a>`;
        },
        table(token: Tokens.Table) {
          const row = (cells: Tokens.TableCell[], tag: string): string =>
            `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`;
          const hasHead = token.header.some((cell) => cell.text !== '');
          const head = hasHead ? `<thead>${row(token.header, 'th')}</thead>` : '';
          const body = token.rows.map((cells) => row(cells, 'td')).join('\n');
          return `<div class="table" tabindex="0" role="group" aria-label="Table"><table>${head}<tbody>${body}</tbody></table></div>\n`;
        },
      },
    });
    return { html: marked.parse(text, { async: false }), headings };
  }
}
