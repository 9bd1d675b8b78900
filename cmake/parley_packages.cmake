# `cmake --install build --component parley` and the two Debian packages that `cpack` makes: `parley`, the program, and
# `parley-site`, what an administrator needs around it. The man pages and the completion come from `parley --help`.
include(GNUInstallDirs)

find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(manual ${CMAKE_BINARY_DIR}/manual)
add_custom_command(OUTPUT ${manual}/completions/parley
                   COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}
                   COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/scripts/manual $<TARGET_FILE:parley> ${manual}
                   DEPENDS parley ${CMAKE_SOURCE_DIR}/scripts/manual VERBATIM)
add_custom_target(manual DEPENDS ${manual}/completions/parley)

set(docs ${CMAKE_INSTALL_DATADIR}/doc/parley)
install(TARGETS parley RUNTIME COMPONENT parley)
install(DIRECTORY ${manual}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT parley)
install(FILES ${manual}/completions/parley DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        COMPONENT parley)
install(FILES README.md CHANGELOG.md SECURITY.md DESTINATION ${docs} COMPONENT parley)
install(FILES LICENSE DESTINATION ${docs} RENAME copyright COMPONENT parley)
install(DIRECTORY docs DESTINATION ${docs} COMPONENT parley)
install(DIRECTORY examples DESTINATION ${docs} COMPONENT parley PATTERN ledger EXCLUDE PATTERN __pycache__ EXCLUDE
        PATTERN "*.db" EXCLUDE)
install(FILES packaging/slurm/train.sbatch DESTINATION ${docs}/examples COMPONENT parley)

install(FILES packaging/parley-site.service DESTINATION lib/systemd/system COMPONENT site)
install(FILES packaging/site.toml DESTINATION /etc/parley RENAME site.toml.example COMPONENT site)
install(FILES packaging/parley-site.logrotate DESTINATION /etc/logrotate.d RENAME parley-site COMPONENT site)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/parley-site RENAME copyright COMPONENT site)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME parley)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "Parley <parley@localhost>")
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL parley site)
set(CPACK_COMPONENTS_IGNORE_GROUPS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PARLEY_PACKAGE_NAME parley)
set(CPACK_DEBIAN_PARLEY_PACKAGE_SECTION science)
set(CPACK_COMPONENT_PARLEY_DESCRIPTION "sparse linear models over data that may not be pooled
Trains linear models across sites that hold different people, columns or tables,
with a proven differential-privacy guarantee or none.")
set(CPACK_DEBIAN_SITE_PACKAGE_NAME parley-site)
set(CPACK_DEBIAN_SITE_PACKAGE_SECTION science)
set(CPACK_DEBIAN_SITE_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_SITE_PACKAGE_DEPENDS "parley (>= ${PROJECT_VERSION}), passwd")
set(CPACK_DEBIAN_SITE_PACKAGE_RECOMMENDS "systemd, logrotate")
set(CPACK_DEBIAN_SITE_PACKAGE_CONTROL_EXTRA
    "${CMAKE_SOURCE_DIR}/packaging/debian/postinst;${CMAKE_SOURCE_DIR}/packaging/debian/prerm;${CMAKE_SOURCE_DIR}/packaging/debian/postrm;${CMAKE_SOURCE_DIR}/packaging/debian/conffiles")
set(CPACK_COMPONENT_SITE_DESCRIPTION "Parley as the service of a site
A systemd unit, a system user, a template of the site file and log rotation.")
include(CPack)
