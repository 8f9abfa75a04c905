# For games outside this tree:
#
#   find_package(ludus CONFIG REQUIRED)          # -Dludus_ROOT=$(python -m ludus.native --cmake-dir)
#   ludus_add_game_module(my_game my_game.cpp)   # a source with LUDUS_GAME_MODULE(my_game, MyGame)
#
# The contract, the pool and the bindings are compiled into the game's own module with the same
# flags as the built-in games, so the two meet only in Python and need not share an ABI.
include_guard(GLOBAL)

get_filename_component(LUDUS_CPP_DIR "${CMAKE_CURRENT_LIST_DIR}/../cpp" ABSOLUTE)
find_package(Threads REQUIRED)

function(ludus_add_game_module name)
  if(NOT TARGET Python::Module)
    message(FATAL_ERROR "ludus_add_game_module: first call find_package(Python 3.10 REQUIRED "
                        "COMPONENTS Interpreter Development.Module)")
  endif()
  if(NOT COMMAND nanobind_add_module)
    execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
      OUTPUT_VARIABLE _nanobind OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE _rc)
    if(NOT _rc EQUAL 0)
      message(FATAL_ERROR "${Python_EXECUTABLE} has no nanobind: pip install nanobind")
    endif()
    find_package(nanobind CONFIG REQUIRED PATHS ${_nanobind} NO_DEFAULT_PATH)
  endif()
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release)
  endif()
  file(GLOB _sources ${LUDUS_CPP_DIR}/game/*.cpp ${LUDUS_CPP_DIR}/pool/*.cpp)
  # A domain of its own: the module's classes never mix with those of ludus.native._core.
  nanobind_add_module(${name} NB_STATIC NOMINSIZE NB_DOMAIN ${name} ${ARGN} ${_sources})
  target_include_directories(${name} PRIVATE ${LUDUS_CPP_DIR})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_compile_options(${name} PRIVATE -ffp-contract=off -O3)
  target_link_libraries(${name} PRIVATE Threads::Threads)
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()
