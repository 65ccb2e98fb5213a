/* SPDX-License-Identifier: Apache-2.0 */
extern int collage_placeholder;
