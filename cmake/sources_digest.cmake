# cmake -DROOT=cpp -DOUT=FILE -P sources_digest.cmake: a unit with the digest of the core's sources. It is written only
# where the digest has changed. tools/sources_digest.py computes the same.
file(GLOB_RECURSE _paths RELATIVE ${ROOT} ${ROOT}/*.hpp ${ROOT}/*.cpp)
list(FILTER _paths EXCLUDE REGEX "^(tests|tools)/")
list(SORT _paths COMPARE STRING CASE SENSITIVE)
set(_lines "")
foreach(_path IN LISTS _paths)
  file(SHA256 ${ROOT}/${_path} _digest)
  string(APPEND _lines "${_path} ${_digest}\n")
endforeach()
string(SHA256 _digest "${_lines}")
file(CONFIGURE OUTPUT ${OUT} CONTENT
  "extern const char* const ludus_sources_digest;\nconst char* const ludus_sources_digest = \"${_digest}\";\n")
