# What Debian wants to have elsewhere or otherwise than `make install` does.
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share)
# Manual pages are compressed, the same bytes every time.
file(GLOB pages ${share}/man/man1/*.1)
execute_process(COMMAND gzip -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
# Its zsh looks here.
file(RENAME ${share}/zsh/site-functions ${share}/zsh/vendor-completions)
