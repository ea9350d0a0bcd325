/**
 * @file The guides: Markdown in `guides/`, in the order of `GUIDES`. The first heading is the title, the paragraph after it
 * the summary.
 */
import type { Markdown } from './markdown.js';
import { type Page, escapeHtml } from './page.js';
import { namesIn, textOf } from './repository-files.js';

const FOLDER = 'apps/site/guides';

/** File names without `.md`, in reading order. */
const GUIDES = [
  'from-pytorch',
  'from-tensorflow-js',
  'compile',
  'dynamic-sizes',
  'memory',
  'webgpu',
  'deploying',
  'data-parallel',
  'writing-an-operator',
  'writing-a-pass',
  'writing-a-backend',
];

interface Guide {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly text: string;
}

function readGuide(name: string): Guide {
  const text = textOf(`${FOLDER}/${name}.md`);
  const [, title, summary] = /^# (.*)\n\n((?:.+\n)+)/.exec(text) ?? [];
  if (title === undefined || summary === undefined)
    throw new Error(`${name}.md must begin with a title and a paragraph.`);
  return { name, title, summary: summary.trim().replaceAll('\n', ' '), text };
}

/** Links between guides end in `.md`, as they do where the files are read in the repository. */
function guideLink(target: string): string {
  if (/^[\w-]+\.md(?:#|$)/.test(target)) return target.replace('.md', '.html');
  const [, code] = /^..\/..\/..\/docs\/errors\/([\w-]+)\.md$/.exec(target) ?? [];
  return code === undefined ? target : `../errors/${code}.html`;
}

function step(guide: Guide | undefined, sign: string): string {
  return guide === undefined
    ? '<span></span>'
    : `<a href="${guide.name}.html">${sign}${escapeHtml(guide.title)}</a>`;
}

/** A page for each guide, and their index. */
export function guidePages(markdown: Markdown): Page[] {
  const present = namesIn(FOLDER).map((file) => file.replace('.md', ''));
  const strays = present.filter((name) => !GUIDES.includes(name));
  if (strays.length > 0) throw new Error(`Guides without a place: ${strays.join(', ')}`);
  const guides = GUIDES.map(readGuide);
  const index: Page = {
    path: 'guides/index.html',
    title: 'Guides',
    description: 'How to use Tessera, one subject at a time. Every sample runs as a test.',
    layout: 'wide',
    body: `<h1>Guides</h1>
<p class="lead">One subject each. Every TypeScript sample is type-checked and run by a test of this repository.</p>
<ol class="contents">${guides
      .map(
        ({ name, title, summary }) =>
          `<li><a href="${name}.html">${escapeHtml(title)}</a><p>${markdown.render(summary).html.replaceAll(/<\/?p>/g, '')}</p></li>`,
      )
      .join('\n')}</ol>`,
  };
  const pages = guides.map(({ name, title, summary, text }, i): Page => ({
    path: `guides/${name}.html`,
    title,
    description: summary.replaceAll(/[`*]|\[|\]\([^)]*\)/g, ''),
    body: `${markdown.render(text, guideLink).html}
<nav class="next" aria-label="Guides">${step(guides[i - 1], '← ')}${step(guides[i + 1], '→ ')}</nav>`,
  }));
  return [index, ...pages];
}
