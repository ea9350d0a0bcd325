/** A program, or a part of one, without what its parser skips. */
export function denseProgram(text: string): string;

/** The source with the programs in its template literals dense. */
export function writeDensePrograms(text: string, file: string): string;

/** A plugin of esbuild that writes the programs of scalar functions dense. */
export function densePrograms(): {
  readonly name: string;
  setup(build: {
    onLoad(
      options: { readonly filter: RegExp },
      load: (args: {
        readonly path: string;
      }) => Promise<{ readonly contents: string; readonly loader: 'ts' }>,
    ): void;
  }): void;
};
